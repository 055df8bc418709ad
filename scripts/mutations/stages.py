"""Breaks of the stages of a plan and of their execution."""

from __future__ import annotations

from scripts.mutations.mutation import Mutation

_STAGES = "planner/stages/build.py"
_SIDES = "planner/stages/small_sides.py"
_WHOLE = "tests/properties/test_sides_read_whole.py"
_IN_PLAN = "spark_jobs/engines/in_plan.py"
_EXPLAINED = "spark_jobs/engines/explained.py"
_ON_CONNECT = ("tests/spark/test_judged_on_connect.py",)
_LIFTED = ("tests/properties/test_lifting.py", "-k", "relations or interpreter")
_CHECKPOINTS = (
    "tests/planner/materialize/test_checkpoints.py", "tests/properties/test_checkpoints.py",
    "tests/chaos/test_checkpoints.py", "-m", "not slow",
)  # fmt: skip
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
        "small sides: what was written before one was made does not read it", _SIDES,
        "inputs = tuple(map(of_side, inputs))", "pass",
        suite=("tests/planner/stages/test_small_sides.py",),
    ),
    Mutation(
        "small sides: what is sent by itself is counted, too", _SIDES,
        "told_bytes(node, below, files)) < most", "told_bytes(node, below, files)) < 0",
        suite=("tests/planner/stages/test_small_sides.py",),
    ),
    Mutation(
        "small sides: texts in the plan have to be UTF-8", _IN_PLAN,
        '.cast("binary") for name in texts', '.cast("string") for name in texts',
        suite=("tests/spark/test_classic.py",),
    ),
    Mutation(
        "small sides: days and instants by Java's older classes", _IN_PLAN,
        'java8API.enabled", "true")', 'java8API.enabled", "false")',
        suite=("tests/spark/test_classic.py",),
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
    Mutation(
        "checkpoints: none is ever worth it", "planner/materialize/checkpoints.py",
        "        if cost >= _CLEARLY * expected:", "        if cost or expected:",
        suite=_CHECKPOINTS,
    ),
    Mutation(
        "checkpoints: all that can be is stored", "planner/materialize/checkpoints.py",
        "        if cost >= _CLEARLY * expected:", "        if cost > 10 * expected:",
        suite=_CHECKPOINTS,
    ),
    Mutation(
        "checkpoints: a text is never given up for them", "planner/materialize/own_batch.py",
        "    return found.expected < CLEAREST * until_done(text, interruptions)",
        "    return False",
        suite=_CHECKPOINTS,
    ),
    Mutation(
        "checkpoints: the same rows are two stages", "planner/stages/build.py",
        "        if family.id not in self.used:  # else", "        if family.id:  # else",
        suite=_CHECKPOINTS,
    ),
    Mutation(
        "checkpoints: what has two readers is computed once", "planner/materialize/checkpoints.py",
        "once = 1 / self._readers[part.cut]", "once = 1", suite=_CHECKPOINTS,
    ),
    Mutation(
        "checkpoints: a small side of the part above is lost", "planner/stages/build.py",
        "        self._sides = above\n", "", suite=_CHECKPOINTS,
    ),
    Mutation(
        "checkpoints: a commit names them", "spark_jobs/executor.py",
        "kept = {family.id for family in stored.plan.kept}",
        "kept = {family.id for family in stored.plan.families}", suite=_CHECKPOINTS,
    ),
    Mutation(
        "checkpoints: tries are counted over clears",
        "plugins/forerun_airflow/tasks/application.py",
        "ti.try_number - (ti.max_tries - (retries or 0))", "ti.try_number",
        suite=("tests/include/runs/test_interruptions.py",),
    ),
)  # fmt: skip
