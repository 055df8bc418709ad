"""Check declarations that a run relies on beyond files, in the data and before any stage.

Footers are not enough: a writer may leave counts of NULLs out (for nested columns all do), and what
it counts may be wrong. So where an answer depends on a declaration, the run reads the columns
concerned. A check reads what came since the base run, if the base run has checked the rest.

Of a foreign key it is verified what a run rests on: no row that the base run has read names a row
that has come since. Bounds in footers are believed there, as an engine does in every filter.
"""

from __future__ import annotations

from collections.abc import Sequence

from forerun.include.reports.sources.source_formats import LOGGED
from forerun.include.state.records import ManifestSource, PinnedFile
from forerun.planner.contract import SourceInput, decode_plan
from forerun.planner.contract.plan_v1 import WEIGHT_COLUMN, ReliedForeignKey
from forerun.planner.errors import ContractError, ForerunError
from forerun.spark_jobs.bounds import within_bounds
from forerun.spark_jobs.changelog import TAKEN_BACK_TOO_OFTEN, goes_too_often
from forerun.spark_jobs.engine import quoted
from forerun.spark_jobs.failures import explained
from forerun.spark_jobs.inputs import read_files
from forerun.spark_jobs.work import Work

_STAGE = "declarations"
_DELTA, _ALL = "__forerun_delta", "__forerun_all"


class DeclarationError(ForerunError):
    """The data of a source is not what its report declares, where the plan depends on it."""

    code = "declaration"


def check_declarations(work: Work) -> None:
    """Raise :class:`DeclarationError` if the data breaks a declaration that this run relies on.

    These are NOT NULL, where the planner has used it to rewrite the query; foreign keys that a
    stage relies on; and of a changelog that no row is taken back more often than it came and that
    each says how often it comes.
    """
    with work.engine.working_on(work.label(_STAGE)), explained("checking the declarations"):
        for name in sorted({view.source for view in work.inputs.sources()} | set(_relied(work))):
            source = work.inputs.manifest.source(name)
            _check_nulls(work, source)
            if source.change == "changelog":
                _check_weights(work, source)
        for one in work.inputs.plan.run.relies_on:
            _check_foreign_key(work, one)


def _relied(work: Work) -> dict[str, tuple[str, ...]]:
    tables = work.inputs.plan.sources
    return {table.name: table.relies_not_null for table in tables if table.relies_not_null}


def _check_nulls(work: Work, source: ManifestSource) -> None:
    columns = _relied(work).get(source.name, ())
    files = _unchecked(work, source.name, columns)
    if not columns or not files:
        return
    counts = _nulls(work, source, files, columns)
    if not any(counts):
        return
    for file in files:
        for column, count in zip(columns, _nulls(work, source, (file,), columns), strict=True):
            if count:
                raise DeclarationError(
                    f"source {source.name}: {file.uri}, column {column}: {count} NULL values, but "
                    "the report declares that there are none",
                    hint=f"Deliver {column} without NULL, or declare it nullable in the report; "
                    "then clear the day.",
                )


def _unchecked(work: Work, source: str, columns: Sequence[str]) -> tuple[PinnedFile, ...]:
    """The files in which the base run has not counted the NULLs of all these columns."""
    inputs = work.inputs
    version = "snapshot"
    if inputs.chain:
        base = decode_plan(work.store.get(inputs.chain[-1].plan))
        known = {name for t in base.sources if t.name == source for name in t.relies_not_null}
        version = "delta" if known >= set(columns) else "snapshot"
    view = SourceInput(view=source, source=source, version=version)  # type: ignore[arg-type]
    return inputs.files(view)


def _nulls(
    work: Work, source: ManifestSource, files: Sequence[PinnedFile], columns: Sequence[str]
) -> list[int]:
    """Return how many NULLs there are in each of the columns. A sum and no filter: an engine would
    skip row groups of which the footer says that there is no NULL."""
    rows = read_files(work.engine, source, files)
    counts = [
        f"coalesce(sum(CASE WHEN {quoted(c)} IS NULL THEN 1 ELSE 0 END), 0) AS {quoted(c)}"
        for c in columns
    ]
    return [int(value) for value in rows.selectExpr(*counts).collect()[0]]


def _check_foreign_key(work: Work, relied: ReliedForeignKey) -> None:
    """Look up the keys of the parents that have come since the base run among the children that it
    has read. Only children are read whose key is within the bounds of those that have come, so
    where keys ascend the engine reads of most files no more than what their footers say."""
    key, inputs, engine = relied.key, work.inputs, work.engine
    child, parent = inputs.manifest.source(relied.source), inputs.manifest.source(key.parent)
    for source in (child, parent):
        if source.change == "changelog" or source.withdrawn:
            raise ContractError(
                f"the plan relies on a foreign key of {relied.source}, but {source.name} takes "
                "rows back",
                hint="Plan the run again.",
            )
    if relied.source not in inputs.base_pins:
        return
    came = inputs.files(SourceInput(view=parent.name, source=parent.name, version="delta"))
    keys = read_files(engine, parent, came).selectExpr(*map(quoted, key.parent_columns))
    kinds = {c.name: c.type for c in child.columns}
    within = within_bounds(keys, key.parent_columns[0], key.columns[0], kinds[key.columns[0]])
    if within is None:
        return
    there = read_files(engine, child, inputs.base_pins[child.name].files).where(within)
    pairs = zip(key.columns, key.parent_columns, strict=True)
    same = " AND ".join(f"a.{quoted(mine)} = g.{quoted(theirs)}" for mine, theirs in pairs)
    texts = ", ".join(f"CAST(a.{quoted(name)} AS STRING)" for name in key.columns)
    engine.bind_view(_ALL, there)
    with engine.computed_first(_DELTA, keys, 0):
        found = engine.session.sql(
            f"SELECT count(*) AS early, min(concat_ws(', ', {texts})) AS example "
            f"FROM {quoted(_ALL)} a LEFT SEMI JOIN {quoted(_DELTA)} g ON {same}"
        ).collect()[0]
    if found["early"]:
        raise DeclarationError(
            f"source {child.name}: {found['early']} rows name by ({', '.join(key.columns)}) rows "
            f"of {parent.name} ({', '.join(key.parent_columns)}) that have come after them, such "
            f"as {found['example']}, but the report declares that these come with them or before",
            hint=f"Deliver rows of {parent.name} no later than what names them, or take the "
            "foreign key out of the report; then clear the day.",
        )


def _check_weights(work: Work, source: ManifestSource) -> None:
    """Return the files whose rows are checked: those since the base run if only changes are read,
    else all, as where files are gone. (What the base run kept of a source comes from changes that
    it has checked.)"""
    if source.format in LOGGED:
        return  # the weights are none of the files', but of what the table's log says of them
    versions = {v.version for v in work.inputs.sources() if v.source == source.name}
    version = "delta" if versions == {"delta"} and not source.withdrawn else "snapshot"
    view = SourceInput(view=source.name, source=source.name, version=version)  # type: ignore[arg-type]
    files = work.inputs.files(view)
    if not files:
        return
    snapshot = SourceInput(view=source.name, source=source.name, version="snapshot")
    whole = read_files(work.engine, source, work.inputs.files(snapshot))
    rows = read_files(work.engine, source, files)
    weight = quoted(WEIGHT_COLUMN)
    found = rows.selectExpr(
        f"coalesce(sum(CASE WHEN {weight} IS NULL THEN 1 ELSE 0 END), 0) AS nulls",
        f"coalesce(sum(CASE WHEN {weight} < 0 THEN 1 ELSE 0 END), 0) AS back",
    ).collect()[0]
    if found["nulls"]:
        raise DeclarationError(
            f"source {source.name}: {found['nulls']} rows of {files[0].uri} and the files after it "
            f"have NULL in {WEIGHT_COLUMN}: they neither come nor go",
            hint=f"Deliver every row with its {WEIGHT_COLUMN}; then clear the day.",
        )
    if found["back"] and goes_too_often(work.engine, source, whole, rows, found["back"]):
        raise DeclarationError(TAKEN_BACK_TOO_OFTEN.format(source.name), hint=_CHANGELOG_HINT)


_CHANGELOG_HINT = (
    f"Deliver a negative {WEIGHT_COLUMN} only for rows that are there, with the values that they "
    "came with; then clear the day."
)
