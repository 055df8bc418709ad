"""Is the suite itself any good? Breaks rules and stages on purpose; each break must turn it red.

Every mutation is applied alone to a copy of the tree, and the delta laws and some hundreds of
generated days run on it, a few of them with files, pins and commits through the executor. A
mutation that survives is printed and makes the exit code 1.

    python -m scripts.mutate [--only NAME]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("planner", "include", "spark_jobs", "forerun", "tests", "pyproject.toml")
_METHODS = "planner/rules/methods"
_RULES, _STAGES = "planner/rules/incremental", "planner/stages/build.py"
_PARTS = "planner/rules/methods/positive_negative.py"
_LAWS = "tests/properties/test_delta_laws.py"
_VALUES = "tests/properties/test_rule_values.py"
_JOINS = "tests/properties/test_memo_values.py"
_DAYS = "tests/properties/test_differential.py"
_ON_SAIL = "tests/properties/test_days_on_sail.py"
_STORED = "tests/spark/test_stored_days.py::test_every_run_of_a_stored_day_equals_batch_on_sail"
SUITES = (
    (_LAWS, _VALUES),
    (_JOINS,),
    (f"{_DAYS}::test_equals_batch_without_an_engine[10000]",),
    tuple(f"{_ON_SAIL}::test_equals_batch_on_sail[{start}]" for start in range(0, 100, 25)),
    (f"{_ON_SAIL}::test_grouping_sets_equal_batch_on_sail",),
    (f"{_STORED}[61000]", "tests/spark/test_changelog.py"),
    (f"{_DAYS}::test_equals_batch_without_an_engine[10100]",),
    tuple(f"{_ON_SAIL}::test_equals_batch_on_sail[{start}]" for start in range(100, 200, 25)),
    (f"{_STORED}[61010]",),
)
"""The fast ones first: the next is only run where the ones before it saw nothing."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """``old`` occurs exactly once in ``path``; ``new`` takes its place."""

    name: str
    path: str
    old: str
    new: str


MUTATIONS = (
    Mutation(
        "repeat: a row that stands for several is taken back once", f"{_RULES}/linear.py",
        'Call("*", (Ref(delta.weight), times), BIGINT)', "Ref(delta.weight)",
    ),
    Mutation(
        "outer join views: who loses the last partner is taken back again",
        f"{_METHODS}/outer_join_views.py", "sign=1 if after else -1", "sign=-1",
    ),
    Mutation(
        "outer join views: nobody loses a partner", f"{_METHODS}/outer_join_views.py",
        "            if after and direct.weight is None:\n", "            if after:\n",
    ),
    Mutation(
        "virtual time points: the leaf counts as not yet updated", f"{_METHODS}/join_block.py",
        "leaf.number < updated or (leaf.number == updated and not after)",
        "leaf.number <= updated",
    ),
    Mutation(
        "views: leaves of two versions in one", f"{_METHODS}/update_chain.py",
        "olds <= {number < updated.number}", "True",
    ),
    Mutation(
        "domain: the group of NULL left out", f"{_METHODS}/domain.py",
        '        found = Call("or", (found, Call("isnull", (Ref(key),), BOOLEAN)), BOOLEAN)\n',
        "        pass\n",
    ),
    Mutation(
        "aggregated first: not by the keys of the query", f"{_METHODS}/pre_aggregation.py",
        "keys = block.needed(side, wanted)", "keys = block.needed(side, ())",
    ),
    Mutation(
        "inner join: L_new for L_old", f"{_RULES}/join.py",
        "parts.append(weighted_join(join, left.old(), right.delta(), ids))",
        "parts.append(weighted_join(join, left.new(), right.delta(), ids))",
    ),
    Mutation(
        "inner join: R_old for R_new", f"{_RULES}/join.py",
        "    if left.changing:\n        parts.append(weighted_join(join, left.delta(), right.new()",
        "    if left.changing:\n        parts.append(weighted_join(join, left.delta(), right.old()",
    ),
    Mutation(
        "inner join: the term of dR dropped", f"{_RULES}/join.py",
        "    if right.changing:\n        parts.append",
        "    if not left.changing:\n        parts.append",
    ),
    Mutation(
        "join: the weight of the right side dropped", f"{_RULES}/join.py",
        "right.weight if join.kind is JoinKind.INNER else None", "None",
    ),
    Mutation(
        "outer join: the null-extended row not retracted", f"{_RULES}/outer_join.py",
        "parts.append(with_weight(_extend_by_nulls(join, touched), ids, sign=-1))",
        "_extend_by_nulls(join, touched)",
    ),
    Mutation(
        "anti join: the row that found a partner comes again", f"{_RULES}/outer_join.py",
        "        parts.append(with_weight(touched, ids, sign=-1))\n    return",
        "        parts.append(with_weight(touched, ids, sign=1))\n    return",
    ),
    Mutation(
        "outer join: every key of the delta counts as new", f"{_RULES}/outer_join.py",
        'AggregateCall("min", (Ref(run),))', 'AggregateCall("max", (Ref(run),))',
    ),
    Mutation(
        "outer join: what is taken back is looked up in the new version",
        f"{_RULES}/outer_join.py",
        "weighted_join(join, touched, right.old(), ids)",
        "weighted_join(join, touched, right.new(), ids)",
    ),
    Mutation(
        "aggregate: the hidden count dropped", f"{_RULES}/aggregate.py",
        "    if node.keys and signed:\n", "    if node.keys and not signed:\n",
    ),
    Mutation(
        "aggregate: the old value of a group not taken back", f"{_RULES}/aggregate.py",
        "((integer(-1),), (integer(1),))", "((integer(1),),)",
    ),
    Mutation(
        "aggregate: the old value includes this run", f"{_RULES}/aggregate.py",
        'earlier = Call("<", (Ref(kept.run), kept.current), BOOLEAN)',
        'earlier = Call("<=", (Ref(kept.run), kept.current), BOOLEAN)',
    ),
    Mutation(
        "aggregate: groups that lost rows are not computed again", f"{_RULES}/aggregate.py",
        'count_rows(Call("<>", (Ref(delta.weight), integer(1)), BOOLEAN), None)',
        'count_rows(Call(">", (Ref(delta.weight), integer(9)), BOOLEAN), None)',
    ),
    Mutation(
        "states: counts merged by their maximum", "planner/algebra/aggregates.py",
        'name = "sum" if slot.merge == "count" else slot.merge',
        'name = "max" if slot.merge == "count" else slot.merge',
    ),
    Mutation(
        "states: minima merged by their maximum", "planner/algebra/aggregates.py",
        'name = "sum" if slot.merge == "count" else slot.merge',
        'name = {"count": "sum", "min": "max"}.get(slot.merge, slot.merge)',
    ),
    Mutation(
        "states: averages of averages", "planner/algebra/aggregates.py",
        'name = "sum" if slot.merge == "count" else slot.merge',
        'name = "sum" if slot.merge == "count" else "max" if slot.merge == "sum" else slot.merge',
    ),
    Mutation(
        "states: FILTER forgotten", "planner/algebra/aggregates.py",
        "guards = rest if call.where is None else (call.where, *rest)", "guards = rest",
    ),
    Mutation(
        "signed bags: the sign of a weight dropped", "planner/tvr/signed.py",
        "(*keep, (weight, integer(sign)))", "(*keep, (weight, integer(1)))",
    ),
    Mutation(
        "signed bags: weights counted instead of summed", "planner/tvr/signed.py",
        'call = AggregateCall("sum", (Ref(bag.weight),))',
        'call = AggregateCall("count", (Ref(bag.weight),))',
    ),
    Mutation(
        "union: only the first branch that changed", f"{_RULES}/linear.py",
        "parts = tuple(branch.delta() for branch in inputs if branch.changing)",
        "parts = tuple(branch.delta() for branch in inputs if branch.changing)[:1]",
    ),
    Mutation(
        "printer: the delta of a family is all of it", "planner/sql/printer.py",
        'Version.DELTA: "="', 'Version.DELTA: "<="',
    ),
    Mutation(
        "printer: OLD includes this run", "planner/sql/printer.py",
        'Version.OLD: "<"', 'Version.OLD: "<="',
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
        "sources: the delta is all that has arrived", "planner/search/incremental.py",
        "delta = Scan(node.source, node.scanned, Version.DELTA)",
        "delta = Scan(node.source, node.scanned, Version.NEW)",
    ),
    Mutation(
        "families: the bucket count chosen anew in each run", "planner/materialize/families.py",
        "            return self._stored[digest]\n        slot",
        "            pass\n        slot",
    ),
    Mutation(
        "IM-2: rows without a partner of one side only of a full join", _PARTS,
        "negative = UnionAll((negative, rest), node.columns)", "pass",
    ),
    Mutation(
        "IM-2: a join of the first part only", _PARTS,
        "joined = tuple(node.with_inputs((branch, node.right)) for branch in branches)",
        "joined = tuple(node.with_inputs((branch, node.right)) for branch in branches[:1])",
    ),
    Mutation(
        "parts: counts of parts counted", "planner/rules/explore/eager_aggregate.py",
        '"count": "sum"', '"count": "count"',
    ),
    Mutation(
        "grouping sets: a key is shown where the set has it not", "planner/sql/grouping_sets.py",
        "Ref(column), nothing)", "Ref(column), Ref(column))",
    ),
    Mutation(
        "grouping sets: the same group of two sets is one", "planner/sql/grouping_sets.py",
        "(*dict.fromkeys(keys), *listed)", "tuple(dict.fromkeys(keys))",
    ),
    Mutation(
        "EXCEPT: what the right side has stays", "planner/rules/normalize/set_operation.py",
        'if node.kind is SetKind.INTERSECT or i == 0 else "="', 'if True else "="',
    ),
    Mutation(
        "EXCEPT ALL: a row less on the right", "planner/rules/normalize/set_operation.py",
        '"least" if node.kind is SetKind.INTERSECT else "-"', '"least"',
    ),
    Mutation(
        "executor: a delivery is all that is pinned", "spark_jobs/inputs.py",
        "return delivery(pin, self.base_pins.get(source.source))", "return pin.files",
    ),
    Mutation(
        "executor: only the last commit's partitions are read", "spark_jobs/inputs.py",
        "for commit in self.chain for a in", "for commit in self.chain[-1:] for a in",
    ),
    Mutation(
        "executor: a run does not see what it has just kept", "spark_jobs/executor.py",
        "        if output.family != RESULT_FAMILY:\n            work.engine.add_partition",
        "        if output.family == RESULT_FAMILY:\n            work.engine.add_partition",
    ),
    Mutation(
        "day: a run goes on from the run before it, committed or not", "include/manifests.py",
        "    base = chain[-1].run if chain else 0\n", "    base = run - 1\n",
    ),
    Mutation(
        "changelogs: rows that are taken back stay", "spark_jobs/changelog.py",
        "ELSE CAST({total} AS INT) END", "ELSE 1 END",
    ),
    Mutation(
        "changelogs: files that take rows back are believed to add only", "include/changelog.py",
        'all(bound == ("1", "1") for bound in bounds)', "bool(files)",
    ),
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="mutations whose name contains this")
    only = parser.parse_args().only
    survivors = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = Path(folder)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, tree / name)
        for mutation in MUTATIONS:
            if only in mutation.name:
                started = time.monotonic()
                red = _is_noticed(mutation, tree)
                seconds = time.monotonic() - started
                print(
                    f"{'red ' if red else 'GREEN'}  {mutation.name}  ({seconds:.0f} s)", flush=True
                )
                survivors += [] if red else [mutation.name]
    if survivors:
        print(f"{len(survivors)} mutations were not noticed: {'; '.join(survivors)}")
    return 1 if survivors else 0


def _is_noticed(mutation: Mutation, tree: Path) -> bool:
    """Whether a suite fails on the mutated copy; the copy is put back afterwards."""
    path = tree / mutation.path
    text = path.read_text()
    if text.count(mutation.old) != 1:
        raise SystemExit(f"{mutation.name}: {mutation.path} has changed, adapt the mutation")
    path.write_text(text.replace(mutation.old, mutation.new))
    try:
        return any(_fails(suite, tree) for suite in SUITES)
    finally:
        path.write_text(text)


def _fails(suite: tuple[str, ...], tree: Path) -> bool:
    # NO_SHRINK: a mutant's failing cases are expected, nobody wants them small.
    environment = {**os.environ, "PYTHONPATH": str(tree), "FORERUN_NO_SHRINK": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *suite]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"the suite did not run:\n{done.stdout + done.stderr!r}")
    return done.returncode == 1


if __name__ == "__main__":
    sys.exit(main())
