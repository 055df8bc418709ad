"""What the store holds, as frozen values; :func:`encode` and :func:`decode` are strict JSON.

Times are ISO 8601 in UTC, sizes bytes, ``cpu_s`` and ``wall_s`` seconds.
"""

from __future__ import annotations

import json
import typing
from dataclasses import dataclass, field

from include.expectations import Expectation
from planner.contract import ColumnSpec, Family
from planner.contract.codec import from_json, to_json
from planner.errors import ContractError

RECORD_VERSION = 1
_KIND, _VERSION = "record", "record_version"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFooter:
    """What the footer of one Parquet file says of one column, over all its row groups.

    ``minimum`` and ``maximum`` are Spark's text of the value; None where the footer has none (or
    not for every row group). ``nulls`` is None when not known. ``distinct`` is estimated
    from dictionaries, 0 when a row group has none.
    """

    name: str
    type: str
    minimum: str | None = None
    maximum: str | None = None
    nulls: int | None = None
    compressed: int = 0
    uncompressed: int = 0
    distinct: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedFile:
    """A file of a source as it was when it was pinned.

    ``uri`` is what Spark reads; ``identity`` the etag, or the modification time in nanoseconds.
    """

    uri: str
    size: int
    identity: str
    rows: int
    columns: tuple[ColumnFooter, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """The exact files of a source at an instant, by URI. Shared by all reports."""

    source: str
    name: str
    day: str
    number: int
    path: str
    format: str
    pinned_at: str
    files: tuple[PinnedFile, ...]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRecord:
    """Why a generation was started. ``trigger`` is equal for all tasks of one attempt at a day."""

    number: int
    trigger: str
    started_at: str
    spec: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestSource:
    """A source of a run: its pin, the base run's pin ("" for none), what is declared of it."""

    name: str
    pin: str
    base_pin: str
    columns: tuple[ColumnSpec, ...]
    changing: bool
    change: str = "append_only"
    format: str = "parquet"
    expectations: tuple[Expectation, ...] = ()
    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What run ``run`` reads. The first one put stays: a retried plan task gets it back.

    ``base`` is the last committed run when this one was planned, 0 for none. ``final`` says that
    the run must make the result; ``expectations`` are those of the result. ``share``: what the run
    keeps is offered to other reports, and theirs is taken.
    """

    report: str
    day: str
    generation: str
    run: int
    base: int
    final: bool
    created_at: str
    sources: tuple[ManifestSource, ...]
    expectations: tuple[Expectation, ...] = ()
    share: bool = False

    def source(self, name: str) -> ManifestSource:
        return next(source for source in self.sources if source.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactFile:
    """A file of an artifact: its name within the folder, and what must still be true of it.

    ``identity`` is the etag on S3; on a local disk it is empty and ``checksum`` decides.
    """

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
    """What one stage took, from what ran. ``source_rows_read`` counts rows of deliveries and
    snapshots, ``state_rows_read`` rows of artifacts; ``bytes_read`` both."""

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
    """What one run took. ``process_cpu_s`` is the CPU of the whole process tree; the stages count
    executors only. ``other_executor_cpu_s`` is what no stage did: expectations, schema reads."""

    stages: tuple[StageMetrics, ...] = ()
    executor_cpu_s: float = 0.0
    other_executor_cpu_s: float = 0.0
    process_cpu_s: float = 0.0
    wall_s: float = 0.0
    source_rows_read: int = 0
    state_rows_read: int = 0
    bytes_read: int = 0


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

    ``key`` holds the details. ``critical`` and ``warnings`` count what failed, by severity.
    """

    target: str
    key: str
    critical: int = 0
    warnings: int = 0


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


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedSource:
    """A source that a kept family is made of: its name in queries, its pin, and a digest of what
    the report declares of it (columns, key, format)."""

    name: str
    pin: str
    declared: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedFamily:
    """A family that is whole in the chain of a commit; ``bytes`` of all its partitions."""

    family: Family
    sources: tuple[OfferedSource, ...]
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a committed run has kept, for other reports over the same pins to find. Only a hint: the
    commit is what is read."""

    report: str
    day: str
    generation: str
    run: int
    families: tuple[OfferedFamily, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """Which version of a report is published, and exactly its files.

    ``folder`` is the URI that readers read. A day's generations are ordered by number: an older
    one never replaces a newer one. ``early``: the result of an early run, over what had arrived
    when its sources were pinned (``as_of``, empty if not early): by forecast the fraction
    ``fraction`` of the day, and exactly ``arrived`` rows by source.
    """

    report: str
    day: str
    version: str
    generation: int
    run: int
    folder: str
    files: tuple[ArtifactFile, ...]
    rows: int
    published_at: str
    early: bool = False
    as_of: str = ""
    fraction: float = 1.0
    arrived: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One committed run in the history of a report: estimated, spent, and what batch was
    estimated at. Costs are millionths of a CPU second. ``arrived`` is rows by source, ``kept`` rows
    that the run has written, by the fingerprint of their family."""

    report: str
    day: str
    generation: str
    run: int
    weight: float
    estimated_cost: int
    batch_cost: int
    executor_cpu_s: float
    process_cpu_s: float
    wall_s: float
    arrived: tuple[tuple[str, int], ...]
    state_bytes: int
    committed_at: str
    kept: tuple[tuple[str, int], ...] = ()


_T = typing.TypeVar("_T")


def encode(record: object) -> bytes:
    """Canonical JSON of a record: the same record gives the same bytes."""
    body = {_KIND: type(record).__name__, _VERSION: RECORD_VERSION, **to_json(record)}
    text = json.dumps(body, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode()


def decode(kind: type[_T], data: bytes, key: str) -> _T:
    """Read a record of ``kind``; ``key`` says in errors where it lies.

    Raises :class:`planner.errors.ContractError` for anything this version does not know: a record
    that is half understood must not be acted on.
    """
    try:
        raw = json.loads(data)
    except ValueError as error:
        raise ContractError(
            f"{key} is not JSON: {error}", hint="It was overwritten from outside; restore it."
        ) from None
    header = (raw.pop(_KIND, None), raw.pop(_VERSION, None)) if isinstance(raw, dict) else None
    if header != (kind.__name__, RECORD_VERSION):
        raise ContractError(
            f"{key} should be a {kind.__name__} of version {RECORD_VERSION}, it is {header}",
            hint="Read the store with the Forerun version that wrote it.",
        )
    return typing.cast(_T, from_json(kind, raw, key))
