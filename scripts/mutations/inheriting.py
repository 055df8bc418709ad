"""Breaks of days that go on from each other: what they inherit, and what they take back."""

from __future__ import annotations

from scripts.mutations.mutation import Mutation

_DECIDED = ("tests/include/days/test_inheriting.py",)
_EXECUTED = ("tests/spark/test_rolling_days.py", "-k", "see_most")
_PANES = ("tests/include/days/test_panes.py",)
_RANGES = ("tests/include/sources/test_listing.py",)
_OF_TABLES = ("tests/spark/test_days_of_tables.py",)
_OF_DATABASES = ("tests/include/sources/test_database_tables.py", "-k", "range_of_days")
_COMPACTIONS = ("tests/include/sources/test_compactions.py",)
_BY_PANE = ("tests/properties/test_delta_laws.py", "-k", "by-pane")
_CORRECTED = ("tests/spark/test_rolling_days.py", "-k", "in_part")
INHERITING = (
    Mutation(
        "panes: a corrected day goes in part", "include/days/panes.py",
        "() if there & {file.day for file in withdrawn} else ", "", suite=_CORRECTED,
    ),
    Mutation(
        "panes: a file of no day", "include/days/panes.py", "all(file.day and before", "all(before",
        suite=_PANES,
    ),
    Mutation(
        "panes: a file of another day than it was of", "include/days/panes.py",
        " and before.get(file.uri, file.day) == file.day", "", suite=_PANES,
    ),
    Mutation(
        "panes: a folder of several days", "include/reports/sources/source.py",
        "return found if alone and len", "return found if len", suite=_RANGES,
    ),
    Mutation(
        "days of tables: rows with NULL are of the day of the others",
        "include/sources/tables/rows_by_day.py", 'return (*days, "") if days and found.has_nulls '
        "else days", "return days", suite=_OF_TABLES,
    ),
    Mutation(
        "days of tables: rows of other days are read", "include/sources/pins.py",
        "if raw.by_day is None or raw.by_day.reads(file.day):", "if True:", suite=_OF_TABLES,
    ),
    Mutation(
        "days of tables: a file of several days lies as it is",
        "include/sources/tables/rows_by_day.py", "if len(known) == 1 and known[0]:",
        "if known and known[0]:", suite=_OF_TABLES,
    ),
    Mutation(
        "days of tables: days of UTC", "include/sources/days.py",
        "return value.astimezone(self.zone).date() if value.tzinfo else value.date()",
        "return value.date()", suite=_OF_TABLES,
    ),
    Mutation(
        "days of tables: rows are of days of UTC", "include/sources/days.py",
        'pa.timestamp("us", str(self.zone))', 'pa.timestamp("us", "UTC")', suite=_OF_TABLES,
    ),
    Mutation(
        "databases: all days are kept of which some rows have gone",
        "include/sources/services/postgresql_format.py",
        "if file.day not in anew)", ")", suite=_OF_DATABASES,
    ),
    Mutation(
        "databases: a slot tells rows of later days",
        "include/sources/services/postgresql_format.py",
        "keys = told.keys if told and asked.last is not None else None",
        "keys = told.keys if told else None",
        suite=("tests/include/sources/test_database_tables.py", "-k", "before_their_day"),
    ),
    Mutation(
        "databases: copies of days that are not read are kept",
        "include/sources/services/postgresql_format.py",
        " if column.reads(file.day))", ")", suite=_OF_DATABASES,
    ),
    Mutation(
        "days of tables: the column of a partition is in its files",
        "include/sources/tables/rows_by_day.py",
        "if column.name.lower() in {name.lower() for name in log.snapshot.partitions}:",
        "if False:", suite=_OF_TABLES,
    ),
    Mutation(
        "compactions: with files that have come since", "include/sources/tables/compactions.py",
        "merged.is_same &= key not in touched", "pass", suite=_COMPACTIONS,
    ),
    Mutation(
        "compactions: of files that were rewritten since", "include/sources/tables/compactions.py",
        "        groups[change.key].is_same = False\n", "        pass\n", suite=_COMPACTIONS,
    ),
    Mutation(
        "compactions: rows were deleted of a file that is not named",
        "include/sources/tables/compactions.py", "    elif _marks(change):", "    elif False:",
        suite=_COMPACTIONS,
    ),
    Mutation(
        "compactions: rows were deleted of a file before", "include/sources/tables/compactions.py",
        "is_same=not any(map(set(partition).issuperset, marked))", "is_same=True",
        suite=_COMPACTIONS,
    ),
    Mutation(
        "compactions: what the pin has by row is what the table has",
        "include/sources/tables/compactions.py",
        "touched -= pinned", "touched.clear()",
        suite=_COMPACTIONS,
    ),
    Mutation(
        "compactions: what has come twice is as it was pinned",
        "include/sources/tables/compactions.py", "change.key in pinned - came",
        "change.key in pinned", suite=_COMPACTIONS,
    ),
    Mutation(
        "compactions: all days of a file at once", "include/sources/tables/compactions.py",
        "days[file.day][number]", 'days["all"][number]', suite=_COMPACTIONS,
    ),
    Mutation(
        "compactions: not all that was compacted was read",
        "include/sources/tables/compactions.py", "if then.issuperset(one.gone) and there",
        "if there", suite=_COMPACTIONS,
    ),
    Mutation(
        "compactions: what was compacted is still read", "include/sources/tables/compactions.py",
        "if there.isdisjoint(one.gone) and then.isdisjoint(one.come)", "if True",
        suite=_COMPACTIONS,
    ),
    Mutation(
        "panes: what has gone is still there", "planner/rules/incremental/panes.py",
        "_must_states(node), ids, some_go=True)", "_must_states(node), ids, some_go=False)",
        suite=_BY_PANE,
    ),
    Mutation(
        "panes: a row that comes twice counts once", "planner/rules/incremental/panes.py",
        "            if state.weighted is not None:\n", "            if False:\n", suite=_BY_PANE,
    ),
    Mutation(
        "panes: below a join with what grows", "planner/rules/explore/pane_groups.py",
        "node.kind in _ONE_SIDED and not sources(node.right) & self.growing",
        "node.kind in _ONE_SIDED", suite=("tests/planner/rules/explore/test_pane_groups.py",),
    ),
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
