"""Breaks of how sources are read: changelogs, and when a day is complete."""

from __future__ import annotations

from scripts.mutations.mutation import Mutation

_SLOT = "include/sources/services/postgresql_slot.py"
_SLOTS = ("tests/include/sources/test_replication_slots.py",)
_AVRO = "include/sources/services/avro_values.py"
_UPSERTS = ("tests/spark/test_upserts.py", "-m", "not slow")
SOURCES = (
    Mutation(
        "slots: transactions that ran are taken for seen", _SLOT,
        "(number < self.xmax and number not in self.running)", "number < self.xmax", suite=_SLOTS,
    ),
    Mutation(
        "slots: the log is not on the disk", _SLOT, "    _flush(table.uri)\n", "", suite=_SLOTS
    ),
    Mutation(
        "slots: a slot that was moved has all", _SLOT,
        "return now.lsn in (self.lsn, self.end)", "return True", suite=_SLOTS,
    ),
    Mutation("slots: a table is not rewritten", _SLOT, " and mine.shape == now.shape", "",
             suite=_SLOTS),
    Mutation(
        "slots: what nobody has seen is forgotten", _SLOT,
        "now = replace(now, end=lsn) if is_prefix else now", "now = replace(now, end=lsn)",
        suite=_SLOTS,
    ),
    Mutation(
        "slots: what was only looked at is forgotten", _SLOT,
        "known.end if known is not None and known.is_told(now) else now.end", "now.end",
        suite=_SLOTS,
    ),
    Mutation(
        "slots: rows that a collation takes for others are new",
        "include/sources/services/postgresql_format.py",
        "now, before = with_keys(now, keys), with_keys(before, keys)",
        "before = with_keys(before, keys)", suite=_SLOTS,
    ),
    Mutation(
        "avro: digits are cut", _AVRO,
        "if not whole or (wanted.precision or 0) < precision:", "if not whole:",
        suite=("tests/include/sources/test_avro_values.py",),
    ),
    Mutation(
        "avro: more bytes than a value", _AVRO,
        "if left := len(value) - given.tell():", "if left := 0:",
        suite=("tests/include/sources/test_avro_values.py",),
    ),
    Mutation(
        "branches: the whole day leaves them", "include/days/sinks/iceberg.py",
        "if is_there and not rows.of.early:", "if False:",
        suite=("tests/include/days/test_table_sinks.py", "-k", "early"),
    ),
    Mutation(
        "branches: who writes to another one is no conflict", "include/days/sinks/iceberg.py",
        'if "older than last sequence number" in str(error):', "if False:",
        suite=("tests/include/days/test_table_sinks.py", "-k", "early"),
    ),
    Mutation(
        "changelogs: rows that are taken back stay", "spark_jobs/changelog.py",
        "{_COPIES}) AS INT))", "{_COPIES}) + IF({total} = 0, 1, 0) AS INT))",
    ),
    Mutation(
        "changelogs: a row comes as often as one part of its copies", "spark_jobs/changelog.py",
        "least({total} - {part} * {_COPIES}, {_COPIES})", "least({total}, {_COPIES})",
        suite=("tests/spark/test_changelog.py",),
    ),
    Mutation(
        "changelogs: the text is given only what is left of it when it is rewritten",
        "planner/api.py",
        "scanned_columns(prune_columns(read.query.relation)) | ", "",
        suite=("tests/planner/stages/test_columns_of_changelogs.py",),
    ),
    Mutation(
        "declarations: only rows that come are looked up", "spark_jobs/changelog.py",
        "WHERE {_W} < 0) g", "WHERE {_W} > 1) g",
        suite=("tests/properties/test_wrong_declarations.py", "-k", "every_method"),
    ),
    Mutation(
        "changelogs: files that take rows back are believed to add only",
        "include/sources/changelog.py",
        'all(bound == ("1", "1") for bound in bounds)', "bool(files)",
    ),
    Mutation(
        "completeness: a marker of an hour completes the day", "include/sources/completeness.py",
        "if rule.name not in _names(path)]",
        "if not any(name.endswith(rule.name) for name in _names(path))]",
    ),
    Mutation(
        "completeness: every day has 24 hours", "include/reports/sources/complete_when.py",
        "return tuple(sorted(shown))", "return tuple(range(24))",
    ),
    Mutation(
        "results of reports: an early one is taken where an incomplete one is",
        "include/sources/completeness.py",
        '== "accept" and not early', '== "accept"',
        suite=("tests/include/sources/test_results_of_reports.py",),
    ),
    Mutation(
        "results of reports: a later version is read beside the one before",
        "include/sources/services/report_format.py",
        "come = _changes(pointer, asked, day) if number else None", "come = None",
        suite=("tests/include/sources/test_results_of_reports.py",),
    ),
    Mutation(
        "results of reports: copies are of versions, whatever they go on from",
        "include/sources/services/report_format.py",
        "*(file.uri for file in since)", "str(len(since) > 0), day.read[1] if since else \"\"",
        suite=("tests/include/sources/test_results_of_reports.py",),
    ),
    Mutation(
        "results of reports: what is less than it was is the whole day",
        "include/days/manifests.py",
        "if not isinstance(rule, WhenPublished) or source.name in known:", "if source.name:",
        suite=("tests/spark/test_report_days.py", "-k", "less_than_it_was"),
    ),
    Mutation(
        "reports of reports: one may be due before one that it reads",
        "include/reports/reports_of_reports.py",
        "if before > due:", "if before > due and False:",
        suite=("tests/include/reports/test_reports_of_reports.py",),
    ),
    Mutation(
        "rewritten rows: a restored file counts beside its pin",
        "include/sources/tables/rewritten.py",
        "if step.added.keys() & pinned or not", "if not",
        suite=("tests/spark/test_rewritten_rows.py", "-m", "not spark"),
    ),
    Mutation(
        "rewritten rows: the feed's rows before an update come",
        "include/sources/tables/rewritten.py",
        '"update_preimage": -1', '"update_preimage": 1',
        suite=("tests/spark/test_rewritten_rows.py", "-m", "not spark"),
    ),
    Mutation(
        "rewritten rows: what a source lost that only grows is not said",
        "include/sources/rows/table_difference.py",
        "if pc.any(pc.less(found[WEIGHT_COLUMN], 0)).as_py():", "if not found.num_rows:",
        suite=("tests/include/sources/test_results_of_reports.py",),
    ),
    Mutation(
        "csv: what is not declared is left out unasked", "include/sources/texts/csv_format.py",
        "others = [] if ignores else", "others = [] if found else",
        suite=("tests/spark/test_csv.py", "-m", "not spark"),
    ),
    Mutation(
        "upserts: the oldest row of a key", "include/sources/rows/upserts.py",
        'aggregate([(by, "max")])', 'aggregate([(by, "min")])', suite=_UPSERTS,
    ),
    Mutation(
        "upserts: the old row is not taken back", "include/sources/rows/upserts.py",
        "come = now if last is None else", "come = now if now else", suite=_UPSERTS,
    ),
    Mutation(
        "upserts: rows that are equally new", "include/sources/rows/upserts.py",
        "if found.num_rows > newest.num_rows:", "if False:", suite=_UPSERTS,
    ),
    Mutation(
        "upserts: NULL in the key", "include/sources/rows/upserts.py",
        "if rows[name].null_count:", "if False:", suite=_UPSERTS,
    ),
)  # fmt: skip
