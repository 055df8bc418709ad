"""Breaks of repairs: what they find, what they take back, and what they go on from."""

from __future__ import annotations

from scripts.mutations.mutation import Mutation

_REPAIRS = ("tests/include/days/test_repair.py",)
_TYPED = ("tests/e2e/test_repair_cli.py",)
_LEFT = ("tests/include/days/test_state_left.py",)
_FORMS = ("tests/planner/materialize/test_repairable.py",)
REPAIRS = (
    Mutation(
        "repair: rows of files that are gone come once more", "spark_jobs/changelog.py",
        'f"-{weight} AS {_W}"', 'f"{weight} AS {_W}"',
        suite=("tests/spark/test_changelog.py",),
    ),
    Mutation(
        "repair: the fence of what it goes on from is not looked at", "spark_jobs/inputs.py",
        "        refuse_closed(store, base_at(inputs.at, inputs.manifest))\n", "        pass\n",
        suite=_TYPED,
    ),
    Mutation(
        "repair: any file of that size is a copy", "include/sources/corrections.py",
        "return file.digest == copy.digest if file.digest else", "return True if file.digest else",
        suite=_REPAIRS,
    ),
    Mutation(
        "repair: a file that was touched counts as changed", "include/sources/corrections.py",
        "    if before.digest and now.digest:\n", "    if not before.digest and now.digest:\n",
        suite=_REPAIRS,
    ),
    Mutation(
        "repair: sources may move before it begins", "include/past/repair.py",
        "    if {key for key, _ in pins.values()} != {key", "    if {key for key, _ in ()} > {key",
        suite=_REPAIRS,
    ),
    Mutation(
        "repair: each try is a generation of its own", "include/past/repair.py",
        "digest_of(self.published.version, keys, at)", "digest_of(id(self), keys, at)",
        suite=_REPAIRS,
    ),
    Mutation(
        "repair: state whose files are gone is gone on from", "include/state/commits.py",
        "            if there.get(file.name) != file.size:\n", "            if not file.size:\n",
        suite=_REPAIRS,
    ),
    Mutation(
        "repair: a day that is under way is repaired", "include/past/repair.py",
        "if at.number > newest and not record.repairs:", "if not at.number and not record.repairs:",
        suite=_REPAIRS,
    ),
    Mutation(
        "repair: state is left whatever it costs", "include/runs/state_left.py",
        "weight=last.weight * following.times", "weight=last.weight", suite=_LEFT,
    ),
    Mutation(
        "repair: sums are kept without a count", "planner/rules/incremental/memo_rules.py",
        "if memo.repairable and not form:", "if not memo.repairable and form:", suite=_FORMS,
    ),
    Mutation(
        "repair: states are read whatever their form", "planner/materialize/artifacts.py",
        "if found is not None and self.has_form(self.slot(kept), found):", "if found is not None:",
        suite=_FORMS,
    ),
    Mutation(
        "repair: an engine without buckets goes on from them in any run",
        "planner/materialize/artifacts.py",
        "last = request.current == len(request.points)", "last = request.current > 0",
        suite=_FORMS,
    ),
    Mutation(
        "repair: weighted rows are appended to plain ones", "planner/temporal/group_costs.py",
        "dict.fromkeys(problem.committed - problem.terms.read_only, _SPENT)",
        "dict.fromkeys(problem.committed, _SPENT)",
        suite=_FORMS,
    ),
    Mutation(
        "repair: rows that are kept count twice", "planner/stages/build.py",
        "(weight, integer(1))", "(weight, integer(2))",
        suite=_FORMS,
    ),
    Mutation(
        "repair: the small engine cuts quotients off", "planner/exact/quotients.py",
        "scale = max(dividend.type.scale, type_.scale)", "scale = dividend.type.scale",
        suite=("tests/planner/exact/test_quotients.py",),
    ),
    Mutation(
        "repair: the small engine does what was not compared", "forerun/past/repair_engines.py",
        "    refuse(engine, what, why_not_exact(engine, day, pins))\n", "",
        suite=("tests/forerun/test_repair_engines.py",),
    ),
    Mutation(
        "repair: what a verification finds is published", "forerun/past/repair_work.py",
        "    if differing := row_diff(*results).num_rows:\n",
        "    if (differing := row_diff(*results).num_rows) < 0:\n",
        suite=_TYPED,
    ),
)  # fmt: skip
