"""Breaks of days that go on from each other: what they inherit, and what they take back."""

from __future__ import annotations

from scripts.mutations.mutation import Mutation

_DECIDED = ("tests/include/days/test_inheriting.py",)
_EXECUTED = ("tests/spark/test_rolling_days.py", "-k", "see_most")
INHERITING = (
    Mutation(
        "inherit: a table that changed stays", "include/runs/inheriting.py",
        'return source.arrival == "growing" and not gone', "return True", suite=_DECIDED,
    ),
    Mutation(
        "inherit: rows that nobody can read are taken back", "include/runs/inheriting.py",
        "before.rows and still_lie_there(gone)", "before.rows", suite=_DECIDED,
    ),
    Mutation(
        "inherit: state whose files are gone", "include/runs/inheriting.py",
        "if closed or first_lost(store, partitions) else", "if closed else", suite=_DECIDED,
    ),
    Mutation(
        "inherit: state that clean-up has closed", "include/runs/inheriting.py",
        "if closed or first_lost", "if first_lost", suite=_DECIDED,
    ),
    Mutation(
        "inherit: of a day that is not over", "include/runs/inheriting.py",
        "chain[-1].run != runs or", "", suite=_DECIDED,
    ),
    Mutation(
        "inherit: without end", "include/runs/inheriting.py",
        " or before.days >= day.spec.policy.inherit_days", "", suite=_DECIDED,
    ),
    Mutation(
        "inherit: a report that was edited", "include/runs/inheriting.py",
        "if record.repairs or record.spec != day.spec.digest:", "if record.repairs:",
        suite=_DECIDED,
    ),
    Mutation(
        "inherit: what was decided is decided again", "include/runs/inheriting.py",
        "    if found is not None:\n        return decode(Inherited", "    if found is None:\n"
        "        return decode(Inherited", suite=_DECIDED,
    ),
    Mutation(
        "inherit: clean-up does not look who has inherited", "include/state/expire.py",
        "if not used or int(n) < used]", "]", suite=_DECIDED,
    ),
    Mutation(
        "inherit: runs of today count as those of the first day", "spark_jobs/inputs.py",
        "return self.inherited.runs_before + run", "return run", suite=_EXECUTED,
    ),
    Mutation(
        "inherit: what was kept is no part of what is read", "spark_jobs/inputs.py",
        "for a in (*self.inherited.partitions, *own)", "for a in own", suite=_EXECUTED,
    ),
    Mutation(
        "inherit: rows of the oldest day stay", "include/days/manifests.py",
        "            withdrawn = went(changes)\n", "            withdrawn = ()\n", suite=_EXECUTED,
    ),
    Mutation(
        "inherit: families that the final run left out", "include/runs/inheriting.py",
        "whole = unbroken((*inherited, *own), growing)",
        "whole = tuple(f for one in (*inherited, *own) for f in one.families)", suite=_EXECUTED,
    ),
    Mutation(
        "inherit: the next delivery of a day has no weights", "spark_jobs/inputs.py",
        'if withdrawn or (source.takes_back and view.version == "delta"):', "if withdrawn:",
        suite=_EXECUTED,
    ),
    Mutation(
        "states: what is taken back of a group is added", "planner/algebra/aggregates/states.py",
        "    return times_weight(value, weight, part.column.type)\n", "    return value\n",
        suite=("tests/properties/test_delta_laws.py", "tests/properties/test_rule_values.py"),
    ),
)  # fmt: skip
