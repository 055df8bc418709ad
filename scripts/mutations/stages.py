"""Breaks of the stages of a plan and of their execution."""

from __future__ import annotations

from scripts.mutations.mutation import Mutation

_STAGES = "planner/stages/build.py"
_SIDES = "planner/stages/small_sides.py"
_WHOLE = "tests/properties/test_sides_read_whole.py"
_EXPLAINED = "spark_jobs/engines/explained.py"
_ON_CONNECT = ("tests/spark/test_judged_on_connect.py",)
_LIFTED = ("tests/properties/test_lifting.py", "-k", "relations or interpreter")
STAGES = (
    Mutation(
        "explained: plans of other types are the same", _EXPLAINED,
        "tuple(field.dataType.simpleString() for field in frame.schema.fields)", "()",
        suite=_ON_CONNECT,
    ),
    Mutation(
        "explained: numbers of literals are numbers of columns", _EXPLAINED,
        '_LIKE_A_NUMBER.sub("\\N{NUMERO SIGN}", sql)', "sql", suite=_ON_CONNECT,
    ),
    Mutation(
        "explained: a name is what stands before a number", _EXPLAINED,
        "        names[number] = max", "        names[''] = max", suite=_ON_CONNECT,
    ),
    Mutation(
        "explained: columns are those of the first analysis", _EXPLAINED,
        'return f"#{numbers.setdefault(each[1], len(numbers))}"', 'return "#"', suite=_ON_CONNECT,
    ),
    Mutation(
        "stages: what earlier runs kept is not added", _STAGES,
        "plus((Signed(old, weight), Signed(change, weight)), data, self._ids)",
        "plus((Signed(change, weight),), data, self._ids)",
    ),
    Mutation(
        "stages: a family is read with this run's rows where it is asked for as it was", _STAGES,
        "version = Version.NEW if until == self._index else Version.OLD", "version = Version.NEW",
    ),
    Mutation(
        "small sides: columns that are read for two are taken for others", _SIDES,
        "names = dict(zip(order, numbered", "names = dict(zip(sorted(order), numbered",
        suite=(_WHOLE,),
    ),
    Mutation(
        "small sides: rows of another filter are read from one", _SIDES,
        " or self._sql(made.input) != self._sql(relation):", ":",
        suite=("tests/planner/stages/test_small_sides.py",),
    ),
    Mutation(
        "small sides: nothing follows from what is counted", _SIDES,
        "return any(isinstance(node, Scan) and node.source in counted",
        "return any(isinstance(node, Scan) and node.source not in counted",
        suite=("tests/planner/stages/test_small_sides.py",),
    ),
    Mutation(
        "families: the bucket count chosen anew in each run", "planner/materialize/artifacts.py",
        "            return self._committed[kept][1]\n",
        "            pass\n",
    ),
    Mutation(
        "lifting: partners may be of another day", "planner/lifting/operators.py",
        "condition = conjunction((*conjuncts(condition), same))",
        "condition = conjunction(conjuncts(condition))",
        suite=_LIFTED,
    ),
    Mutation(
        "lifting: a window goes over all days", "planner/lifting/operators.py",
        "replace(call, partition=(*call.partition, by))", "replace(call, partition=call.partition)",
        suite=_LIFTED,
    ),
    Mutation(
        "lifting: no value over no rows", "planner/lifting/operators.py",
        "    if text is None:", "    if text is None or call:",
        suite=_LIFTED,
    ),
    Mutation(
        "executor: a delivery is all that is pinned", "spark_jobs/inputs.py",
        "return delivery(pin, base)", "return pin.files",
    ),
    Mutation(
        "executor: only the last commit's partitions are read", "spark_jobs/inputs.py",
        "for c in self.chain for a in", "for c in self.chain[-1:] for a in",
    ),
    Mutation(
        "executor: a run does not see what it has just kept", "spark_jobs/executor.py",
        "        if output.family != RESULT_FAMILY:\n            written =",
        "        if output.family == RESULT_FAMILY:\n            written =",
    ),
    Mutation(
        "files: their names are patterns", "spark_jobs/paths.py",
        "return _PATTERN.sub", "return uri or _PATTERN.sub",
        suite=("tests/spark/test_classic.py", "-k", "each_file"),
    ),
)  # fmt: skip
