"""Breaks of how tables with a log are read: which rows are deleted, and by what names."""

from __future__ import annotations

from scripts.mutations.mutation import Mutation

_ICEBERG = ("tests/spark/test_iceberg.py", "-m", "not spark and not slow")
_DELTA = ("tests/spark/test_delta.py", "-m", "not spark and not slow", "-k", "mapping")
_AT = "include/sources/tables"
TABLES = (
    Mutation(
        "equality deletes: of rows that came with them", f"{_AT}/iceberg_files.py",
        "(one.sequence_number or 0) > number", "(one.sequence_number or 0) >= number",
        suite=_ICEBERG,
    ),
    Mutation(
        "equality deletes: of all partitions", f"{_AT}/iceberg_files.py",
        "(file.spec_id, file.partition) if partitioned else ()", "()", suite=_ICEBERG,
    ),
    Mutation(
        "equality deletes: of one partition where the table has none", f"{_AT}/iceberg_files.py",
        "[*equalities[()], *equalities[", "[*equalities[", suite=_ICEBERG,
    ),
    Mutation(
        "equality deletes: one column is enough", f"{_AT}/iceberg_deletes.py",
        "            here = pc.add(pc.multiply(mine, len(values)), here)\n",
        "            here, theirs = pc.add(pc.multiply(mine, 0), here), pc.multiply(theirs, 0)\n",
        suite=_ICEBERG,
    ),
    Mutation(
        "equality deletes: an older file has zeros", f"{_AT}/iceberg_columns.py",
        "pa.scalar(field.initial_default, short.get(kind, kind))",
        "pa.scalar(field.initial_default or 0, short.get(kind, kind))", suite=_ICEBERG,
    ),
    Mutation(
        "defaults: older files are read as they are", f"{_AT}/other_names.py",
        " or bool(self.missing(fields.values(), columns))", "", suite=_ICEBERG,
    ),
    Mutation(
        "hidden partitions: columns of the file", f"{_AT}/log.py",
        "for name, value in values if name.lower() in columns)", "for name, value in values)",
        suite=_ICEBERG,
    ),
    Mutation(
        "other names: read by those of the files", f"{_AT}/iceberg_columns.py",
        "now.get(name, number) == number and names.get(number, name) == name", "True",
        suite=_ICEBERG,
    ),
    Mutation(
        "other names: a name that was given again is the old column", f"{_AT}/other_names.py",
        "        if name is None and not above:\n            return None\n", "", suite=_ICEBERG,
    ),
    Mutation(
        "other names: inside of a column as the files have them", f"{_AT}/other_names.py",
        "pa.field(name or field.name, self._inside(field.type, path), field.nullable)",
        "pa.field(name or field.name, field.type, field.nullable)", suite=_ICEBERG,
    ),
    Mutation(
        "other names: all columns of a table count", f"{_AT}/log.py",
        "if name.lower() in declared or not asked.ignores", "if True", suite=_ICEBERG,
    ),
    Mutation(
        "other names: a compacted file is read beside its copy", f"{_AT}/table_listing.py",
        "for file in kept if left or _counts(file)}", "for file in kept if left}", suite=_ICEBERG,
    ),
    Mutation(
        "other names: deleted rows of a copied file are not taken back", f"{_AT}/table_listing.py",
        "        if not left and deleted is not None:\n",
        "        if not left and deleted is not None and names is None:\n", suite=_ICEBERG,
    ),
    Mutation(
        "column mapping: partitions by their names in the log", f"{_AT}/delta_log.py",
        "(names.get(name, name), value or None)", "(name, value or None)", suite=_DELTA,
    ),
    Mutation(
        "column mapping: inside of arrays as the files have them", f"{_AT}/delta_columns.py",
        'yield from _called(element, (*above, "element"))', "yield from ()", suite=_DELTA,
    ),
    Mutation(
        "tables: a length of time is published as a number", "include/reports/sinks.py",
        "return _ONLY_SPARK.search(kind) is not None", "return False",
        suite=("tests/include/days/test_table_sinks.py", "-k", "spark_alone"),
    ),
)  # fmt: skip
