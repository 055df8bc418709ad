"""Load the inputs of a run: its plan, manifest, pins and committed chain, verified and then bound.

Nothing here asks the store what is there to read: the manifest names the pins, the pins name the
source files, the commits name the artifact files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from forerun.include.days.manifests import read_manifest
from forerun.include.days.panes import by_pane
from forerun.include.reports.sources.changes import in_files
from forerun.include.sources.changelog import only_adds
from forerun.include.sources.constants import Constants
from forerun.include.sources.corrections import came, find_corrections
from forerun.include.sources.delivery import delivery, read_pin, verify_pin
from forerun.include.sources.widening import same_type
from forerun.include.state.commits import check_buckets, read_chain, verify_partition
from forerun.include.state.fence import refuse_closed
from forerun.include.state.inherited import Inherited, read_inherited
from forerun.include.state.layout import Generation
from forerun.include.state.records import (
    ArtifactPartition,
    Manifest,
    ManifestSource,
    Pin,
    PinnedFile,
    RunCommit,
)
from forerun.include.stores.store import StoreReader
from forerun.planner.contract import (
    ArtifactOutput,
    ColumnSpec,
    Family,
    FamilyInput,
    Plan,
    ResultOutput,
    Run,
    SourceInput,
    Stage,
)
from forerun.planner.contract.plan_v1 import PANE_COLUMN
from forerun.planner.errors import ContractError
from forerun.spark_jobs.changelog import consolidated, with_taken_back
from forerun.spark_jobs.engine import Engine, Frame, Partition, quoted, text_literal


@dataclass(frozen=True, slots=True)
class Inputs:
    """One run's inputs. ``pins`` and ``base_pins`` are by source name; a source that the base run
    did not have is not in ``base_pins``."""

    at: Generation
    plan: Plan
    manifest: Manifest
    pins: dict[str, Pin]
    base_pins: dict[str, Pin]
    chain: tuple[RunCommit, ...]
    inherited: Inherited = Inherited()  # noqa: RUF009 - a frozen value

    def files(self, source: SourceInput) -> tuple[PinnedFile, ...]:
        """The files of a snapshot, or of a delivery: what the pin has over the base's pin."""
        pin, base = self.pins[source.source], self.base_pins.get(source.source)
        if source.version == "snapshot":
            return pin.files
        declared = self.manifest.source(source.source)
        from_others = self.manifest.base_generation or self.inherited.day
        if base is not None and (from_others or declared.withdrawn):
            return came(find_corrections(base, pin))
        return delivery(pin, base)

    def withdrawn(self, source: SourceInput) -> tuple[PinnedFile, ...]:
        """The files whose rows a delivery takes back: none but in a repair."""
        if source.version == "snapshot":
            return ()
        return self.manifest.source(source.source).withdrawn

    def partitions(self, family: str) -> tuple[ArtifactPartition, ...]:
        """The committed partitions of a family, oldest first: inherited ones before the day's own.
        Their runs are counted over all these days."""
        own = (replace(a, run=self.counted(a.run)) for c in self.chain for a in c.artifacts)
        return tuple(a for a in (*self.inherited.partitions, *own) if a.family == family)

    def earlier_days(self) -> tuple[Generation, ...]:
        """The generations of earlier days that have a partition which some stage may read."""
        named = {family.id for family in self.families()}
        return tuple(self.inherited.of_days(self.at.report, named))

    def counted(self, run: int) -> int:
        """Return the number by which what is kept knows a run of the day."""
        return self.inherited.runs_before + run

    def sources(self, *stages: Stage) -> tuple[SourceInput, ...]:
        """Every view of a source that these stages read, once; by default all stages of the run."""
        reading = stages or self.plan.run.stages
        wanted = (i for s in reading for i in s.inputs if isinstance(i, SourceInput))
        return tuple(dict.fromkeys(wanted))

    def families(self) -> tuple[Family, ...]:
        """Every family that some stage of the run reads or writes, once."""
        names = dict.fromkeys(name for s in self.plan.run.stages for name in _families(s))
        return tuple(self.plan.family(name) for name in names)


def load_inputs(store: StoreReader, at: Generation, plan: Plan) -> Inputs:
    """Read everything that says what the run reads. Raises a ``ForerunError`` where it does not
    fit together."""
    _check_plan(plan)
    run = plan.run
    manifest = read_manifest(store, at, run.index)
    inherited = read_inherited(store, at) if manifest.inherits else Inherited()
    if manifest.base != run.base:
        raise ContractError(
            f"the plan goes on from run {run.base}, the manifest from run {manifest.base}",
            hint="Plan the run again; the manifest stays as it is.",
        )
    named = {source.name for source in manifest.sources}
    if missing := sorted({table.name for table in plan.sources} - named):
        raise ContractError(
            f"the manifest of run {run.index} has no pin of {', '.join(missing)}",
            hint="The report was changed during the day; clear the day.",
        )
    gives_result = any(isinstance(s.output, ResultOutput) for s in run.stages)
    if (manifest.final or run.early_result) and not gives_result:
        raise ContractError(
            f"run {run.index} is to give the result, but its plan makes no result",
            hint="Plan the run again.",
        )
    pins = {s.name: read_pin(store, s.pin) for s in manifest.sources}
    base_pins = {s.name: read_pin(store, s.base_pin) for s in manifest.sources if s.base_pin}
    _check_unchanged(run, manifest)
    chain = tuple(read_chain(store, base_at(at, manifest), tip=manifest.base))
    return Inputs(at, plan, manifest, pins, base_pins, chain, inherited)


def _check_unchanged(run: Run, manifest: Manifest) -> None:
    """Refuse a plan by which nothing has come of a source of which something has."""
    came = {one.name for one in manifest.sources if one.pin != one.base_pin or one.withdrawn}
    if wrong := sorted(came.intersection(run.unchanged)):
        raise ContractError(
            f"the plan says that nothing has come of {', '.join(wrong)} since run {run.base}, and "
            "something has",
            hint="Plan the run again.",
        )


def base_at(at: Generation, manifest: Manifest) -> Generation:
    """The generation that the base of a run belongs to."""
    return replace(at, generation=manifest.base_generation or at.generation)


def verify_inputs(engine: Engine, store: StoreReader, inputs: Inputs) -> None:
    """Prove that every source file and every artifact that the run reads is unchanged, and was
    written the way this engine reads it."""
    verify_sources(inputs)
    for family in inputs.families():
        for partition in inputs.partitions(family.id):
            check_family(partition, family, buckets=engine.has_buckets)
            verify_partition(store, partition)


def verify_read(store: StoreReader, inputs: Inputs, written: Sequence[ArtifactPartition]) -> None:
    """Prove, after everything was read, that it was the same all the time: no pinned file and no
    partition has changed, and no other generation that was read is closed. (The fence
    of the run's own generation is for the commit to look at.) ``written`` are the partitions of
    the run itself, which its later stages read and its commit is about to name.

    Spark takes a partition folder that has vanished for one without rows, so that a run which
    read beside a deletion would not fail by itself.
    """
    verify_sources(inputs)
    for partition in written:
        verify_partition(store, partition)
    for family in inputs.families():
        _verify_kept(store, inputs, family.id)
    if inputs.manifest.base_generation:
        refuse_closed(store, base_at(inputs.at, inputs.manifest))
    for earlier in inputs.earlier_days():
        refuse_closed(store, earlier)


def verify_stage_read(
    store: StoreReader, inputs: Inputs, stage: Stage, done: Mapping[str, ArtifactPartition]
) -> None:
    """Prove the same of what one stage has read; ``done`` are this run's partitions, by family."""
    verify_sources(inputs, stage)
    for item in stage.inputs:
        if isinstance(item, FamilyInput):
            _verify_kept(store, inputs, item.family)
            if item.family in done:
                verify_partition(store, done[item.family])


def _verify_kept(store: StoreReader, inputs: Inputs, family: str) -> None:
    """Prove that the partitions of a family that earlier runs have kept are unchanged."""
    for partition in inputs.partitions(family):
        verify_partition(store, partition)


def verify_sources(inputs: Inputs, *stages: Stage) -> None:
    """Prove that the pinned files of every source that these stages read, by default all stages of
    the run, are unchanged."""
    names = {view.source for view in inputs.sources(*stages)}
    if not stages:  # what a run has looked up before them counts as read
        relied = inputs.plan.run.relies_on
        names |= {name for one in relied for name in (one.source, one.key.parent)}
        names |= {one.name for one in inputs.manifest.sources if one.expectations}
    for name in sorted(names):
        verify_pin(inputs.pins[name])
        if withdrawn := inputs.manifest.source(name).withdrawn:
            verify_pin(replace(inputs.pins[name], files=withdrawn))


def bind_inputs(engine: Engine, store: StoreReader, inputs: Inputs) -> None:
    """Make every view and family of the run readable in SQL under the names of the contract."""
    reads = {table.name: table.reads for table in inputs.plan.sources}
    for view in inputs.sources():
        source = inputs.manifest.source(view.source)
        files, withdrawn = inputs.files(view), inputs.withdrawn(view)
        if view.by_pane:
            source, files, withdrawn = _by_pane(source, files, withdrawn)
        rows = read_files(engine, source, files)
        if source.change == "changelog" and view.version == "snapshot":
            # A source that rewriting has dropped is none of the plan's; the text still names it.
            read = reads.get(view.source, ())
            rows = consolidated(engine, source, rows, once=only_adds(files), reads=read)
        if withdrawn or (source.takes_back and view.version == "delta"):
            gone = read_files(engine, source, withdrawn) if withdrawn else None
            rows = with_taken_back(source, rows, gone)
        engine.bind_view(view.view, rows)
    for family in inputs.families():
        engine.open_family(family, store.uri(f"{inputs.at.artifacts}/{family.id}"))
        for partition in inputs.partitions(family.id):
            engine.add_partition(family, bound(store, partition))


def _by_pane(
    source: ManifestSource, *deliveries: Sequence[PinnedFile]
) -> tuple[ManifestSource, tuple[PinnedFile, ...], tuple[PinnedFile, ...]]:
    """The source with one more column, and what comes and what goes of it with their panes."""
    came, gone = (tuple(by_pane(f, PANE_COLUMN) for f in files) for files in deliveries)
    columns = (*source.columns, ColumnSpec(name=PANE_COLUMN, type="DATE"))
    return replace(source, columns=columns), came, gone


def read_files(engine: Engine, source: ManifestSource, files: Sequence[PinnedFile]) -> Frame:
    """The rows of files of a source, with the columns that its files have, in the declared types.

    Files with narrower types are read in theirs and cast: what a value is in the wider type is for
    the engine's CAST to say, not for its reader of files.
    """
    columns = in_files(source.columns, source.change)
    read: Frame | None = None
    groups = _by_what_they_hold(columns, files)
    for (own, constants), uris in groups.items():
        rows = engine.read(uris, own, source.format)
        if own != columns or len(groups) > 1:  # Sail loses the names of a scan in a UNION
            texts = dict(constants)
            rows = rows.selectExpr(
                *(
                    f"CAST({text_literal(texts[c.name])} AS {c.type}) AS {quoted(c.name)}"
                    if c.name in texts
                    else f"CAST({quoted(c.name)} AS {c.type}) AS {quoted(c.name)}"
                    for c in columns
                )
            )
        read = rows if read is None else read.unionByName(rows)
    return engine.read([], columns, source.format) if read is None else read


def _by_what_they_hold(
    columns: tuple[ColumnSpec, ...], files: Sequence[PinnedFile]
) -> dict[tuple[tuple[ColumnSpec, ...], Constants], list[str]]:
    """Return the URIs of files by the declared columns that they hold, in the types that they have
    them in, and by the constants that they lack. A file that holds none of them is read by another
    column of it: no engine's schema is empty, and its rows count."""
    found: dict[tuple[tuple[ColumnSpec, ...], Constants], list[str]] = {}
    for file in files:
        lacking = {name for name, _ in file.constants}
        there = {column.name.lower(): column.type for column in file.columns}
        types = [there.get(column.name.lower(), column.type) for column in columns]
        own = tuple(
            column if same_type(kind, column.type) else replace(column, type=kind)
            for column, kind in zip(columns, types, strict=True)
            if column.name not in lacking
        )
        if not own:
            held = next(column for column in file.columns if column.name not in lacking)
            own = (ColumnSpec(name=held.name, type=held.type),)
        found.setdefault((own, file.constants), []).append(file.uri)
    return found


def refuse_own_types(source: ManifestSource, pin: Pin) -> None:
    """Raise :class:`ContractError` if a file has a column in a narrower type than the declared one,
    or lacks one that is the same in all its rows: the files of several days are read as one, with
    the same columns."""
    columns = in_files(source.columns, source.change)
    if set(_by_what_they_hold(columns, pin.files)) - {(columns, ())}:
        raise ContractError(
            f"source {source.name} has files with narrower types, or with partition columns",
            hint="Compute the day by itself.",
        )


def bound(store: StoreReader, partition: ArtifactPartition) -> Partition:
    """A partition as the engine reads it."""
    return Partition(
        run=partition.run,
        folder=store.uri(partition.folder),
        files=tuple(store.uri(f"{partition.folder}/{file.name}") for file in partition.files),
    )


def check_family(partition: ArtifactPartition, family: Family, *, buckets: bool) -> None:
    """Refuse a partition that was written under another definition than the plan has, or by an
    engine without ``buckets`` for one that has them.

    A wrong bucket count would lose rows silently, another key or type would scatter equal keys.
    To an engine without buckets those of another one are files like any others.
    """
    check_buckets(partition)
    number = family.buckets if buckets else partition.buckets
    written = (partition.key, partition.buckets, partition.signed, _types(partition))
    wanted = (family.key, number, family.signed, _types(family))
    if written != wanted:
        raise ContractError(
            f"the partition of run {partition.run} of {family.id} has key "
            f"{partition.key}, {partition.buckets} buckets and columns {_types(partition)}; the "
            f"plan says {family.key}, {number} buckets and {_types(family)}",
            hint="An artifact family is fixed for the day. Plan the run again.",
        )


def _types(what: ArtifactPartition | Family) -> tuple[tuple[str, str], ...]:
    return tuple((column.name, column.type.upper().replace(" ", "")) for column in what.columns)


def _families(stage: Stage) -> Iterator[str]:
    for item in stage.inputs:
        if isinstance(item, FamilyInput):
            yield item.family
    if isinstance(stage.output, ArtifactOutput):
        yield stage.output.family


def _check_plan(plan: Plan) -> None:
    if not 1 <= plan.current <= len(plan.runs) or plan.run.index != plan.current:
        raise ContractError(f"the plan has no run {plan.current}", hint="Plan the run again.")
    if not plan.run.stages:
        raise ContractError(
            f"the plan gives run {plan.current} nothing to do",
            hint="Skip the run; what it would have read is in the delivery of the next one.",
        )
    known = {family.id for family in plan.families}
    names = {name for stage in plan.run.stages for name in _families(stage)}
    if missing := sorted(names - known):
        raise ContractError(
            f"the plan reads families it does not define: {', '.join(missing)}",
            hint="Plan the run again.",
        )
