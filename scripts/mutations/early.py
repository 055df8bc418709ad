"""Breaks of days whose early runs another engine does: which runs, at what prices, and what is
submitted."""

from __future__ import annotations

from scripts.mutations.mutation import Mutation

_PRICES = ("tests/planner/materialize/test_early_prices.py",)
_GROUPS = ("tests/planner/test_report_group.py",)
_CHOSEN = ("tests/include/runs/test_early_engine.py",)
_TASKS = ("tests/airflow/test_early_engine.py", "-m", "not spark")
EARLY = (
    Mutation(
        "early engine: runs that give a result", "planner/request.py",
        "range(1, len(self.points))).difference(self.problem.results_at)",
        "range(1, len(self.points)))", suite=_PRICES,
    ),
    Mutation(
        "early engine: alternatives at the other prices", "planner/temporal/alternatives.py",
        "return self.early if self.early is not None and run in self.early_runs else self",
        "return self", suite=_PRICES,
    ),
    Mutation(
        "early engine: rows are kept at the other prices", "planner/temporal/store_costs.py",
        "[alternatives.prices_of(span.run) for span in spans]",
        "[alternatives.prices for span in spans]", suite=_PRICES,
    ),
    Mutation(
        "early engine: a run starts at the other prices", "planner/materialize/opening.py",
        "prices = self._request.prices_of(run)", "prices = self._request.settings.prices",
        suite=_PRICES,
    ),
    Mutation(
        "early engine: a budget is met at the other prices", "planner/materialize/diss_actions.py",
        "return self._day.alternatives.prices_of(span.run)",
        "return self._day.alternatives.prices", suite=_PRICES,
    ),
    Mutation(
        "early engine: stages are written for the other", "planner/api.py",
        "    if run not in request.early_runs:\n        return context\n", "    return context\n",
        suite=_PRICES,
    ),
    Mutation(
        "early engine: work is told by the other prices", "planner/materialize/itemized.py",
        "return by_engine(charged, alternatives) if candidate.keeps else alternatives",
        "return alternatives", suite=_PRICES,
    ),
    Mutation(
        "early engine: a group has one application of both", "planner/report_group.py",
        "by_engine.setdefault(member.is_elsewhere(point), [])", "by_engine.setdefault(False, [])",
        suite=_GROUPS,
    ),
    Mutation(
        "early engine: what is not exact", "include/runs/early_engine.py",
        "for relation in found.kept_now:", "for relation in ():", suite=_CHOSEN,
    ),
    Mutation(
        "early engine: files and expectations", "include/runs/early_engine.py",
        "if reasons := why_not_on_day(day, pins):", "if reasons := []:", suite=_CHOSEN,
    ),
    Mutation(
        "early engine: files of another reader", "include/runs/exact_engines.py",
        '.engine_format) != "parquet"', '.engine_format) == ""', suite=_CHOSEN,
    ),
    Mutation(
        "early engine: however much it reads", "include/runs/early_engine.py",
        "found.plan, sum(_bytes_read(day, found.plan)))", "found.plan, 0)", suite=_CHOSEN,
    ),
    Mutation(
        "early engine: what was read before counts again", "include/runs/early_engine.py",
        'item.version == "delta" and source.base_pin', 'item.version == "no"', suite=_CHOSEN,
    ),
    Mutation(
        "early engine: also where that is dearer", "include/runs/prepare.py",
        "if why or result.plan.estimated_cost < found.plan.estimated_cost:", "if why:",
        suite=_CHOSEN,
    ),
    Mutation(
        "early engine: a group, also where that is dearer", "include/runs/prepare_units.py",
        "if alone.cost < found.cost else", "if False else", suite=_CHOSEN,
    ),
    Mutation(
        "early engine: rows are kept by a key", "include/runs/early_engine.py",
        "prices=replace(settings.prices, buckets=False)", "prices=settings.prices", suite=_CHOSEN,
    ),
    Mutation(
        "early engine: takes cores", "plugins/forerun_airflow/tasks/submit.py",
        "own = [unit for unit in units if unit.key not in apart]", "own = units", suite=_TASKS,
    ),
    Mutation(
        "early engine: tried again by itself", "plugins/forerun_airflow/tasks/submit.py",
        'return engines if context["ti"].try_number == 1 else {}', "return engines", suite=_TASKS,
    ),
)  # fmt: skip
