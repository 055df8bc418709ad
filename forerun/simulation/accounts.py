"""The account of a day, read from what its runs committed: the figures of everything that ran.

The same account is made of a day that was simulated and of one that Airflow ran, because both
leave the same commits. Nothing here is an estimate, except where a field says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from forerun.include.sources.delivery import read_pin
from forerun.include.state.commits import read_chain, read_commit
from forerun.include.state.given_up import all_given_up
from forerun.include.state.layout import Generation
from forerun.include.state.pointers import Pointer, read_published
from forerun.include.state.records import Manifest, RunCommit, StageMetrics, decode
from forerun.include.stores.opening import split_uri
from forerun.include.stores.store import StoreReader
from forerun.planner.contract import FamilyInput, Plan, decode_plan
from forerun.planner.cost.constants import MICRO
from forerun.planner.errors import ForerunError
from forerun.planner.explain import flow
from forerun.planner.explain.sql import statements

_RESHAPES = ("Project", "Filter")


class AccountError(ForerunError):
    """A day that has no account, because its final run is not committed."""

    code = "account"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageAccount:
    """One stage of a run, as it ran."""

    id: str
    title: str
    sql: str
    rows: int
    cpu_s: float
    wall_s: float
    source_rows_read: int
    state_rows_read: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyResult:
    """The result that an early run gave, and whether it equals what the plain query gives over what
    had arrived by then."""

    rows: int
    equal: bool
    differences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAccount:
    """One run. ``estimated_cost`` is in CPU seconds; ``rows_read`` counts rows of sources,
    ``state_rows_read`` rows of artifacts, ``bytes_read`` both; ``state_bytes`` what it kept.
    ``plan_ms`` is the planner's own time, ``prepare_ms`` with pinning, statistics and storing; None
    where another process planned, as a task of Airflow does. ``decided``: ``batch``, or the method
    whose plan was chosen; empty where another process planned.
    ``early_result`` is there where an early run was to give the result. ``engine`` has done it."""

    index: int
    weight: float
    arrived: float
    estimated_cost: float = 0.0
    cpu_s: float = 0.0
    process_cpu_s: float = 0.0
    wall_s: float = 0.0
    rows_read: int = 0
    state_rows_read: int = 0
    bytes_read: int = 0
    state_bytes: int = 0
    stages: tuple[StageAccount, ...] = ()
    skipped: bool = True
    plan_ms: float | None = None
    prepare_ms: float | None = None
    decided: str = ""
    flow: str = ""
    early_result: EarlyResult | None = None
    engine: str = ""

    def as_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class DayAccount:
    """A whole day beside batch, which is the one run of the plain query. Ratios are of executor CPU
    seconds, both sides weighted with the prices of their runs; None where batch used no measurable
    CPU. ``equal`` is of the final result, and of every early one. ``plan_ms`` is the longest that
    planning a run took, None where that is not known. ``not_covered``: constructs of the query
    that the engine itself gets wrong, so that ``equal`` says nothing of them (code and reason).
    ``own_batch``: batch in stages of our own, where the day was asked for it."""

    report: str
    engine: str
    equal: bool
    result: str
    rows: int
    runs: tuple[RunAccount, ...]
    batch: RunAccount
    weighted_ratio: float | None
    final_ratio: float | None
    early_work: bool
    not_incremental: tuple[dict[str, str], ...]
    plan_ms: float | None
    kept: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sql: str = ""
    sample: tuple[dict[str, str], ...] = ()
    arrivals: tuple[tuple[str, tuple[int, ...]], ...] = field(default=())
    not_covered: tuple[dict[str, str], ...] = ()
    own_batch: RunAccount | None = None

    @property
    def process_ratio(self) -> float | None:
        """The weighted ratio by whole processes: starting each application, compiling its code
        and planning its queries included."""
        spent = sum(run.weight * run.process_cpu_s for run in self.runs)
        return ratio(spent, self.runs[-1].weight * self.batch.process_cpu_s)

    @property
    def waiting(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return what waits for the final run, for people: by reason code, every operator once,
        without those that only reshape the rows of others."""
        found: dict[str, dict[str, None]] = {}
        for item in self.not_incremental:
            if item["operator"] not in _RESHAPES:
                found.setdefault(item["reason"], {})[item["operator"]] = None
        return tuple((reason, tuple(operators)) for reason, operators in found.items())

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def read_runs(
    store: StoreReader, at: Generation, points: tuple[tuple[float, float], ...]
) -> tuple[RunAccount, ...]:
    """The runs of a day; ``points`` are weight and arrived fraction of each."""
    gave_up = {given_up.done.run: given_up.done for given_up in all_given_up(store, at)}
    commits = gave_up | {commit.run: commit for commit in read_chain(store, at)}
    return tuple(
        _run(store, commits[index], weight, arrived)
        if index in commits
        else RunAccount(index=index, weight=weight, arrived=arrived)
        for index, (weight, arrived) in enumerate(points, 1)
    )


def read_batch(store: StoreReader, at: Generation) -> RunAccount:
    """The account of the run of a day that was planned as batch."""
    commit = last_commit(store, at)
    run = read_plan(store, commit).run
    return _run(store, commit, run.weight, run.arrived)


def last_commit(store: StoreReader, at: Generation) -> RunCommit:
    """The commit of a plain query, which has one. Raises :class:`AccountError` without one."""
    commit = next(iter(read_chain(store, at)[-1:]), None)
    if commit is None:
        raise AccountError(
            f"the plain query of {at.report} was not committed", hint="Look at the log of its run."
        )
    return commit


def read_plan(store: StoreReader, commit: RunCommit) -> Plan:
    """The plan by which a committed run worked."""
    key = split_uri(commit.plan)[1] if "://" in commit.plan else commit.plan
    return decode_plan(store.get(key))


def commit_with_result(store: StoreReader, at: Generation, run: int) -> RunCommit:
    """The commit of a run that gives the result. Raises :class:`AccountError` without one."""
    commit = read_commit(store, at, run)
    if commit is None or commit.result is None:
        raise AccountError(
            f"run {run} of {at.report} has committed no result", hint="Look at the log of its run."
        )
    return commit


def read_pointer(store: StoreReader, at: Generation) -> Pointer:
    """Return the pointer to what is published of a day. Raises :class:`AccountError` if nothing
    is."""
    pointer = read_published(store, at.report, at.day).pointer
    if pointer is None:
        raise AccountError(
            f"nothing is published of {at.report} for {at.day}", hint="Look at the log of its runs."
        )
    return pointer


def read_arrivals(
    store: StoreReader, at: Generation, runs: int
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Rows of each source that were there when each run was planned, by source."""
    seen: dict[str, list[int]] = {}
    for run in range(1, runs + 1):
        found = store.find(at.manifest(run))
        pins = decode(Manifest, found.data, at.manifest(run)).sources if found else ()
        for source in pins:
            seen.setdefault(source.name, []).append(read_pin(store, source.pin).rows)
    return tuple((name, tuple(rows)) for name, rows in seen.items() if len(rows) == runs)


def is_early_work(store: StoreReader, commit: RunCommit, arrived_rows: int) -> bool:
    """Did the final run read fewer source rows than had arrived, because of an artifact?"""
    plan = read_plan(store, commit)
    reads_kept = any(isinstance(i, FamilyInput) for s in plan.run.stages for i in s.inputs)
    has_base = commit.base > 0 and reads_kept
    return has_base and commit.metrics.source_rows_read < arrived_rows


def ratio(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None


def weighted_cpu(runs: tuple[RunAccount, ...]) -> float:
    """Executor CPU seconds of all runs, each times its weight."""
    return sum(run.weight * run.cpu_s for run in runs)


def _run(store: StoreReader, commit: RunCommit, weight: float, arrived: float) -> RunAccount:
    plan = read_plan(store, commit)
    used = commit.metrics
    run = plan.runs[commit.run - 1]
    metrics = {metric.stage: metric for metric in used.stages}
    return RunAccount(
        index=commit.run,
        weight=weight,
        arrived=arrived,
        estimated_cost=run.estimated_cost / MICRO,
        cpu_s=used.executor_cpu_s,
        process_cpu_s=used.process_cpu_s,
        wall_s=used.wall_s,
        rows_read=used.source_rows_read,
        state_rows_read=used.state_rows_read,
        bytes_read=used.bytes_read,
        state_bytes=sum(artifact.bytes for artifact in commit.artifacts),
        stages=tuple(
            _stage(
                stage.title, statements(stage), metrics.get(stage.id, StageMetrics(stage=stage.id))
            )
            for stage in run.stages
        ),
        skipped=False,
        flow=flow.render(plan, run),
        engine=used.engine,
    )


def _stage(title: str, sql: str, used: StageMetrics) -> StageAccount:
    return StageAccount(
        id=used.stage,
        title=title,
        sql=sql,
        rows=used.rows,
        cpu_s=used.executor_cpu_s,
        wall_s=used.wall_s,
        source_rows_read=used.source_rows_read,
        state_rows_read=used.state_rows_read,
    )


def decided_alone(runs: Sequence[RunAccount]) -> str:
    """Return the method of a day that did all in its final run, or "" if it worked early."""
    *early, final = runs
    return final.decided if all(run.skipped for run in early) else ""
