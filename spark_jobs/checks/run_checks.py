"""Expectations on sources and results, once in each run that has something to check.

A failed expectation never stops the run: the run is committed with its findings, and publishing
refuses where a critical one did not pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from forerun.include.days.findings import CheckReport, encode_checks
from forerun.include.days.findings_page import render_checks
from forerun.include.reports.expectations import Expectation
from forerun.include.sources.changelog import only_adds
from forerun.include.state.check_figures import CheckFigures, Figure
from forerun.include.state.layout import RESULT_FAMILY
from forerun.include.state.records import (
    ArtifactPartition,
    CheckRecord,
    ManifestSource,
    PinnedFile,
    decode,
    encode,
)
from forerun.planner.contract import SourceInput
from forerun.planner.errors import ContractError
from forerun.spark_jobs.changelog import consolidated
from forerun.spark_jobs.checks.stand_ins import About, CheckedRows, evaluate_all
from forerun.spark_jobs.inputs import read_files
from forerun.spark_jobs.work import Work

_STAGE = "checks"


def check_sources(work: Work, progress: Callable[[str], None]) -> list[CheckRecord]:
    """Check what the sources hold, so that the day has one verdict however its rows came.

    An expectation that each row meets or not is checked on the delivery since the base run. One on
    all rows together is checked by the final run, on all rows of the day, also if there are none;
    earlier runs check it on what has come, and that is provisional. So is, before the final run,
    every expectation on a changelog, whose wrong rows may still be taken back.
    """
    return [
        _check(work, source.name, rows, part.wanted, progress, part.name)
        for source in work.inputs.manifest.sources
        for part in _parts(work, source)
        for rows in _rows_of(work, source, part, progress)
    ]


@dataclass(frozen=True, slots=True)
class _Part:
    """Expectations that are checked together, on one version of a source. ``name``: what their
    outcome is called beside that of the others of the run."""

    version: Literal["delta", "snapshot"]
    wanted: tuple[Expectation, ...]
    name: Literal["", "day", "so-far"] = ""

    @property
    def provisional(self) -> bool:
        return self.name == "so-far"


def _parts(work: Work, source: ManifestSource) -> tuple[_Part, ...]:
    manifest, wanted = work.inputs.manifest, source.expectations
    whole = _files(work, source, "snapshot")
    if manifest.final and not sum(file.rows for file in whole):
        return (_Part("snapshot", wanted),)
    goes = _rows_go(work, source)
    by_parts = () if goes else tuple(one for one in wanted if one.holds_by_parts)
    if manifest.final and _files(work, source, "delta") == whole:
        return (_Part("snapshot", wanted),)
    rest = tuple(one for one in wanted if one not in by_parts)
    return (
        _Part("delta", by_parts),
        _Part("snapshot", rest, "day" if manifest.final else "so-far"),
    )


def _files(
    work: Work, source: ManifestSource, version: Literal["delta", "snapshot"]
) -> tuple[PinnedFile, ...]:
    view = SourceInput(view=source.name, source=source.name, version=version)
    return work.inputs.files(view)


def _rows_of(
    work: Work, source: ManifestSource, part: _Part, progress: Callable[[str], None]
) -> Iterator[CheckedRows]:
    """Yield the rows that a part is checked on; nothing if there is nothing to check: no
    expectation, or an early run to which nothing new has come."""
    delta, files = _files(work, source, "delta"), _files(work, source, part.version)
    came = sum(file.rows for file in delta)
    if not part.wanted or not (came or (part.version == "snapshot" and not part.provisional)):
        return
    types = {column.name: column.type for column in source.columns}
    frame, count = read_files(work.engine, source, files), sum(file.rows for file in files)
    if _rows_go(work, source):
        if source.change == "changelog":
            frame = consolidated(work.engine, source, frame, once=only_adds(files))
            count = frame.count()
        yield CheckedRows(work.engine, frame, count, types)
        return
    known = _figures_of_base(work, source, progress) if part.name else {}
    rows = CheckedRows(work.engine, frame, count, types, for_later=part.provisional)
    if known:
        new = set(delta)
        earlier = tuple(file for file in files if file not in new)
        rows = replace(
            rows,
            came=read_files(work.engine, source, delta),
            earlier=read_files(work.engine, source, earlier),
            figures=known,
        )
    yield rows


def _rows_go(work: Work, source: ManifestSource) -> bool:
    """Return whether rows that an earlier run has checked may have gone since."""
    manifest = work.inputs.manifest
    from_others = manifest.base_generation or manifest.inherits
    return bool(source.change == "changelog" or from_others or source.withdrawn)


def _figures_key(work: Work, run: int, attempt: str, source: str) -> str:
    return f"{work.inputs.at.checks(run, attempt)}/{source}.figures.json"


def _figures_of_base(
    work: Work, source: ManifestSource, progress: Callable[[str], None]
) -> dict[About, Figure]:
    """Return what the last run to which something came has found of all rows that it had; nothing
    if these are not the rows that the base run had, or if it cannot be read: the rows can."""
    for commit in reversed(work.inputs.chain):
        if any(check.target == source.name for check in commit.checks):
            key = _figures_key(work, commit.run, commit.attempt, source.name)
            found = work.store.find(key)
            if found is None:
                return {}
            try:
                record = decode(CheckFigures, found.data, key)
            except ContractError as error:
                progress(f"{source.name}: all rows are checked anew, since {error}")
                return {}
            if record.pin != source.base_pin:
                return {}
            return {About(one.of, one.columns): one for one in record.figures}
    return {}


def check_result(
    work: Work, result: ArtifactPartition, progress: Callable[[str], None]
) -> list[CheckRecord]:
    """Check the rows that were written, not the query that made them."""
    expectations = work.inputs.manifest.expectations
    if not expectations:
        return []
    files = [work.store.uri(f"{result.folder}/{file.name}") for file in result.files]
    frame = work.engine.read(files, result.columns)
    types = {column.name: column.type for column in result.columns}
    rows = CheckedRows(work.engine, frame, result.rows, types)
    return [_check(work, RESULT_FAMILY, rows, expectations, progress)]


def _check(
    work: Work,
    target: str,
    rows: CheckedRows,
    expectations: Sequence[Expectation],
    progress: Callable[[str], None],
    name: str = "",
) -> CheckRecord:
    at, run = work.inputs.at, work.inputs.plan.run.index
    provisional = name == "so-far"
    with work.engine.working_on(work.label(_STAGE)):
        findings, figures = evaluate_all(rows, expectations)
    checks = CheckReport(
        report=at.report,
        day=at.day,
        run=run,
        attempt=work.attempt,
        target=target,
        engine=work.engine.name,
        rows=rows.count,
        findings=findings,
        provisional=provisional,
    )
    key = f"{at.checks(run, work.attempt)}/{'.'.join(filter(None, (target, name)))}"
    work.store.put(f"{key}.html", render_checks(checks))
    work.store.put(f"{key}.json", encode_checks(checks))
    if rows.for_later:
        pin = work.inputs.manifest.source(target).pin
        kept = CheckFigures(source=target, pin=pin, figures=figures)
        work.store.put(_figures_key(work, run, work.attempt, target), encode(kept))
    for finding in findings:
        if finding.outcome != "passed":
            said = "provisional" if provisional else finding.severity
            progress(f"{target}: {said}: {finding.sentence}")
    critical, warnings = checks.count("critical"), checks.count("warning")
    if provisional:
        return CheckRecord(target=target, key=f"{key}.json", provisional=critical + warnings)
    return CheckRecord(target=target, key=f"{key}.json", critical=critical, warnings=warnings)
