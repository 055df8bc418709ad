"""The records of the store, as frozen values; :func:`encode` and :func:`decode` are strict JSON.

Times are ISO 8601 in UTC, sizes bytes, ``cpu_s`` and ``wall_s`` seconds. Version 2 of a record has
a checksum; version 1, which has none, is still read. A field that is added to a record must be a
:func:`forerun.planner.contract.plan_v1.later` one, so that records without it stay readable.
"""

from __future__ import annotations

import typing
from dataclasses import dataclass, field

from forerun.include.reports.expectations import Expectation
from forerun.include.reports.run_policy import Retries
from forerun.planner.contract import ColumnSpec
from forerun.planner.contract.codec import from_json, to_json
from forerun.planner.contract.plan_v1 import later
from forerun.planner.contract.seal import naming_writer, seal, shown, unseal
from forerun.planner.errors import ContractError, ForerunError

RECORD_VERSION = 2
_UNSEALED_VERSION = 1
_KIND, _VERSION = "record", "record_version"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFooter:
    """The statistics of one leaf of a nested column, as of a column.

    ``path`` is how it is reached (:mod:`forerun.planner.algebra.parts`). ``entries`` is how many
    values it has, those that are NULL included: one more for each array or map on the way that has
    nothing in it or is NULL.
    """

    path: tuple[str, ...]
    entries: int
    minimum: str | None = None
    maximum: str | None = None
    nulls: int | None = None
    distinct: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFooter:
    """The statistics of one column in the footer of one Parquet file, over all its row groups.

    ``minimum`` and ``maximum`` are Spark's text of the value; None where the footer has none (or
    not for every row group). ``nulls`` is None when not known. ``distinct`` is estimated
    from dictionaries, 0 when a row group has none. ``parts`` are the leaves of a nested column, of
    which none of these is known but for its bytes; empty in pins of older versions.
    """

    name: str
    type: str
    minimum: str | None = None
    maximum: str | None = None
    nulls: int | None = None
    compressed: int = 0
    uncompressed: int = 0
    distinct: int = 0
    parts: tuple[PartFooter, ...] = later(())


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedFile:
    """A file of a source as it was when it was pinned.

    ``uri`` is what Spark reads; ``identity`` the etag, or the modification time in nanoseconds.
    ``digest``: of the file's footer and of blocks spread over the file, where ``identity`` is a
    time, which a copy may keep; empty where it is an etag, and in older pins. ``old_times``: the
    columns with dates or times by an old calendar or in an old format; None in older pins, which
    did not look. ``constants``: the columns that the file lacks because all its rows have one value
    there, and its text; None for NULL (:mod:`forerun.include.sources.constants`). ``origin``: the
    URI of what holds the rows of a file that Forerun has spooled; else empty. ``day``: that of all
    its rows, as ISO has it, where a source that is read over several tells it; else empty.
    """

    uri: str
    size: int
    identity: str
    rows: int
    columns: tuple[ColumnFooter, ...] = ()
    digest: str = later("")
    old_times: tuple[str, ...] | None = later(None)
    constants: tuple[tuple[str, str | None], ...] = later(())
    origin: str = later("")
    day: str = later("")

    @property
    def name(self) -> str:
        """What people know the file by: where its rows were delivered."""
        return self.origin or self.uri


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """Files of one day, by URI, and those into which a table has written the same rows."""

    gone: tuple[str, ...]
    come: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """The exact files of a source at an instant, by URI. Shared by all reports.

    In the store a large pin may say only what has changed: ``base`` is then the number of an
    earlier pin of the same day that is whole, ``files`` those that it has not, and ``dropped`` the
    URIs of those that are gone. :func:`forerun.include.sources.delivery.read_pin` gives whole pins.
    ``more_paths``: the other folders of a source that a period of several days reads; ``path`` is
    that of its last day. ``table`` and ``version``: of a table with a log, what tells it from one
    that was created anew in its place, and the version whose rows these are. ``compacted``: what
    was compacted in it since the pin of the day before.
    """

    source: str
    name: str
    day: str
    number: int
    path: str
    format: str
    pinned_at: str
    files: tuple[PinnedFile, ...]
    base: int = later(0)
    dropped: tuple[str, ...] = later(())
    more_paths: tuple[str, ...] = later(())
    table: str = later("")
    version: int = later(0)
    compacted: tuple[Compacted, ...] = later(())

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedBy:
    """The DAG run that opened a generation, and how: the mode that it chose, the report group that
    the report runs in (empty for none), and how the task of the final run is tried again.
    ``prefix`` is what the ids of the report's own tasks begin with, the name of their task group
    and a dot."""

    dag_id: str
    run_id: str
    mode: str
    group: str
    retries: Retries
    prefix: str = later("")


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRecord:
    """The start of a generation. ``trigger`` is equal for all tasks of one attempt at a day.
    ``spec`` is the digest of the report as it was; ``opened_by`` is None where no DAG run opened
    it, and in records of older versions. ``repairs``: the published generation that this one
    repairs (:mod:`forerun.include.past.repair`), empty for an attempt at the day from its first run
    on."""

    number: int
    trigger: str
    started_at: str
    spec: str = ""
    opened_by: OpenedBy | None = later(None)  # noqa: RUF009 - a field, as above
    repairs: str = later("")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The holder of a report's name in this store, such as a DAG, since its first use there."""

    report: str
    holder: str
    since: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestSource:
    """A source of a run: its pin, the base run's pin ("" for none), what is declared of it.

    ``withdrawn``: files that the base run has read and this one's pin does not have, as they can
    still be read. Their rows are taken back: a delivery has a weight for each row, also where that
    is for other days (``takes_back``). ``panes``: its days (:mod:`forerun.include.days.panes`)."""

    name: str
    pin: str
    base_pin: str
    columns: tuple[ColumnSpec, ...]
    changing: bool
    change: str = "append_only"
    format: str = "parquet"
    expectations: tuple[Expectation, ...] = ()
    key: tuple[str, ...] = ()
    withdrawn: tuple[PinnedFile, ...] = later(())
    takes_back: bool = later(False)
    panes: tuple[str, ...] = later(())


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The pins that run ``run`` reads. The first manifest put stays: a retry gets it back.

    ``base`` is the last committed run when this one was planned, 0 for none. ``final`` says that
    the run must make the result; ``expectations`` are those of the result. ``incomplete``: sources
    that were not complete when the final run was let go on all the same, each with what was
    missing. ``base_generation``: the generation of the day that ``base`` is a run of, where it is
    another one, as of a repair. ``inherits``: the day goes on from an earlier one. ``share`` is
    read by nothing, and was of former versions."""

    report: str
    day: str
    generation: str
    run: int
    base: int
    final: bool
    created_at: str
    sources: tuple[ManifestSource, ...]
    expectations: tuple[Expectation, ...] = ()
    share: str | bool = ""
    incomplete: tuple[tuple[str, str], ...] = later(())
    base_generation: str = later("")
    inherits: bool = later(False)

    @property
    def own_base(self) -> int:
        """The base, if it is a run of this generation; else 0."""
        return 0 if self.base_generation else self.base

    def source(self, name: str) -> ManifestSource:
        for source in self.sources:
            if source.name == name:
                return source
        raise LookupError(f"the manifest of run {self.run} has no source {name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactFile:
    """A file of an artifact: its name within the folder, and what must still be true of it.

    ``identity`` is the etag on S3; on a local disk it is empty and ``checksum`` decides."""

    name: str
    size: int
    identity: str = ""
    checksum: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactPartition:
    """One run's partition of a family (or the result): a folder and exactly what is in it."""

    family: str
    run: int
    attempt: str
    folder: str
    files: tuple[ArtifactFile, ...]
    rows: int
    columns: tuple[ColumnSpec, ...]
    key: tuple[str, ...] = ()
    buckets: int = 0
    signed: bool = False

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageMetrics:
    """The measured work of one stage. ``source_rows_read`` counts rows of deliveries and snapshots,
    ``state_rows_read`` rows of artifacts; ``bytes_read`` both."""

    stage: str
    rows: int = 0
    bytes: int = 0
    executor_cpu_s: float = 0.0
    wall_s: float = 0.0
    source_rows_read: int = 0
    state_rows_read: int = 0
    bytes_read: int = 0
    reused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMetrics:
    """The measured work of one run. ``process_cpu_s`` is the CPU of the whole process tree, 0 where
    it could not be measured; the stages count executors only. ``other_executor_cpu_s`` is what no
    stage did: expectations, schema reads. ``runs_in_application``: by how many runs the process was
    shared, for which each states its own CPU and a part of the start. ``days_in_query``: how many
    days one query has computed at once; each then states an equal part of it. ``engine`` is the
    name of the engine that ran it; records of older versions do not say it."""

    stages: tuple[StageMetrics, ...] = ()
    executor_cpu_s: float = 0.0
    other_executor_cpu_s: float = 0.0
    process_cpu_s: float = 0.0
    wall_s: float = 0.0
    source_rows_read: int = 0
    state_rows_read: int = 0
    bytes_read: int = 0
    runs_in_application: int = later(1)
    days_in_query: int = later(1)
    engine: str = later("")


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRecord:
    """A stage that is done. ``digest`` is of all that its output depends on (its SQL, its inputs'
    files): a retry goes on from here only if it would do the very same."""

    run: int
    stage: str
    attempt: str
    digest: str
    output: ArtifactPartition
    metrics: StageMetrics


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRecord:
    """The outcome of the expectations on a delivery (``target`` is the source) or the ``result``.

    ``key`` holds the details. ``critical`` and ``warnings`` count what failed, by severity;
    ``provisional`` what does not hold of the rows that had come by then, and is checked again of
    all rows of the day: it stops nothing.
    """

    target: str
    key: str
    critical: int = 0
    warnings: int = 0
    provisional: int = later(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCommit:
    """The winning attempt of a run: all that later runs and readers may trust."""

    run: int
    base: int
    attempt: str
    plan: str
    committed_at: str
    artifacts: tuple[ArtifactPartition, ...] = ()
    result: ArtifactPartition | None = None
    checks: tuple[CheckRecord, ...] = ()
    metrics: RunMetrics = field(default_factory=RunMetrics)


_T = typing.TypeVar("_T")


def encode(record: object) -> bytes:
    """Canonical JSON of a record with a checksum: the same record gives the same bytes."""
    header = {_KIND: _record_name(type(record)), _VERSION: RECORD_VERSION}
    return seal({**header, **to_json(record)})


def decode(kind: type[_T], data: bytes, key: str) -> _T:
    """Read a record of ``kind``; ``key`` says in errors where it lies.

    Raises :class:`forerun.planner.errors.ContractError`, and nothing else, for anything that this
    version does not know: a record that is half understood must not be acted on.
    """
    return typing.cast(_T, decode_one_of((kind,), data, key))


def decode_one_of(kinds: tuple[type, ...], data: bytes, key: str) -> object:
    """Read a record of one of some kinds, where each may lie; else as :func:`decode`."""
    with naming_writer(data):
        return _decoded(kinds, data, key)


def _decoded(kinds: tuple[type, ...], data: bytes, key: str) -> object:
    raw, sealed = unseal(data, key)
    name, version = raw.pop(_KIND, None), raw.pop(_VERSION, None)
    # Version 1 had no checksum; a record of version 2 whose checksum was cut off is none of it.
    wanted = RECORD_VERSION if sealed else _UNSEALED_VERSION
    kind = next((kind for kind in kinds if _record_name(kind) == name), None)
    if kind is None or type(version) is not int or version != wanted:
        raise ContractError(
            f"{key} should be a {' or '.join(map(_record_name, kinds))} of version "
            f"{RECORD_VERSION}, it is {shown(name)} of version {shown(version)} "
            f"{'with' if sealed else 'without'} a checksum",
            hint="Read the store with the Forerun version that wrote it.",
        )
    try:
        return from_json(kind, raw, key)
    except ContractError:
        raise
    except ForerunError as error:  # a value of a type that checks itself
        raise ContractError(f"{key}: {error.message}", hint=error.hint) from None


def _record_name(kind: type) -> str:
    """The name of a kind of record in JSON: that of its class, or the one that it has kept."""
    return str(getattr(kind, "RECORD_NAME", kind.__name__))
