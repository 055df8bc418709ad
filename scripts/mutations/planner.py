"""Breaks of what plans are compared by, and of the memo that they are looked for in."""

from __future__ import annotations

from scripts.mutations.mutation import Mutation

_PROBLEMS = "tests/planner/materialize/test_problems.py"
_MEMO = "tests/planner/memo/test_memo.py"
_PATTERNS = "tests/planner/memo/test_patterns.py"
_OPENED_SETS = "tests/planner/materialize/test_opened_sets.py"
PLANNER = (
    Mutation(
        "objective: runs are weighed by their prices, not by the ratios of them",
        "planner/materialize/objective.py",
        "round(point.weight / dearest * WEIGHT_STEPS)", "round(point.weight * 1000)",
        suite=(_PROBLEMS,),
    ),
    Mutation(
        "objective: what is forced to be kept has a price that estimates reach",
        "planner/temporal/alternatives.py",
        "FORCED_PENALTY = 1 << 1100\n", "FORCED_PENALTY = 1 << 50\n", suite=(_PROBLEMS,),
    ),
    Mutation(
        "opened sets: a run costs nothing to start", "planner/materialize/opened_sets.py",
        "(self._starts[following] + round(work))", "round(work)", suite=(_OPENED_SETS,),
    ),
    Mutation(
        "opened sets: a run that gives the result is passed over",
        "planner/materialize/opened_sets.py",
        "before = [run for run in ways if passed <= run < following]",
        "before = [run for run in ways if run < following]", suite=(_OPENED_SETS,),
    ),
    Mutation(
        "opened sets: a larger set is searched although a smaller one was cheaper",
        "planner/materialize/opened_sets.py",
        "return not self._to_the_end and size >= len(self._wanted) + 2", "return False",
        suite=(_OPENED_SETS,),
    ),
    Mutation(
        "opened sets: a set goes on from one that begins otherwise as if it began alike",
        "planner/temporal/as_of.py",
        "return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))",
        "return min(len(one), len(other))", suite=(_OPENED_SETS,),
    ),
    Mutation(
        "memo: a merged TVR takes the weight without its delta", "planner/memo/memo.py",
        "        if not into.has_delta:\n            into.weight = out.weight",
        "        if into.weight is None:\n            into.weight = out.weight", suite=(_MEMO,),
    ),
    Mutation(
        "memo: a view with the weight of another delta is taken over", "planner/memo/memo.py",
        "edge[1] is View.WEIGHTED and into.weight != out.weight", "False", suite=(_MEMO,),
    ),
    Mutation(
        "memo: who looks for an operator adds it", "planner/memo/memo.py",
        "        return None if known is None else self.leader(self.expressions[known].group)\n\n"
        "    def reference(",
        "        return self.add(node)\n\n    def reference(", suite=(_MEMO,),
    ),
    Mutation(
        "patterns: a role that is given later fires no rule", "planner/memo/memo.py",
        "            self._new_edges.append((tvr.id, role))\n", "", suite=(_PATTERNS,),
    ),
    Mutation(
        "patterns: a merge of groups completes none", "planner/memo/memo.py",
        "            self._new_expressions += (*kept.expressions, *kept.parents)\n", "",
        suite=(_PATTERNS,),
    ),
    Mutation(
        "patterns: one input with a role is enough", "planner/search/engine.py",
        "if role is not None) if all(found) else None", "if role is not None) or None",
        suite=(_PATTERNS,),
    ),
    Mutation(
        "no regret: the interval is its upper bound", "planner/materialize/no_regret.py",
        "return max(low, min(high, self.batch - SURE * spread(mine, self._error_terms)))",
        "return high", suite=("tests/planner/temporal/test_uncertainty.py",),
    ),
    Mutation(
        "run seconds: a fit is compared with what it follows", "planner/schedule/fit.py",
        "        others = [*points[:i], *points[i + 1 :]]\n        function = _function(others, "
        "[*weights[:i], *weights[i + 1 :]], breaks)\n",
        "        function = _function(points, weights, breaks)\n",
        suite=("tests/planner/schedule/test_run_seconds.py",),
    ),
)  # fmt: skip
