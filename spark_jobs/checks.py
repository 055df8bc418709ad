"""Expectations on sources and results, evaluated by Great Expectations in the run's own session.

A failed expectation never stops the run: the run is committed with its findings, and publishing
refuses where a critical one did not pass. The package is imported only if there is something to
check: importing it takes seconds.
"""

from __future__ import annotations

import importlib.util
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from forerun.include.days.findings import CheckReport, Finding, encode_checks
from forerun.include.days.findings_page import render_checks
from forerun.include.reports.expectations import Expectation
from forerun.include.sources.changelog import only_adds
from forerun.include.state.layout import RESULT_FAMILY
from forerun.include.state.records import (
    ArtifactPartition,
    CheckRecord,
    ManifestSource,
    PinnedFile,
)
from forerun.planner.contract import SourceInput
from forerun.spark_jobs.changelog import consolidated
from forerun.spark_jobs.engine import Frame
from forerun.spark_jobs.inputs import read_files
from forerun.spark_jobs.work import Work

_SAMPLE = 10
_STAGE = "checks"


def check_sources(work: Work, progress: Callable[[str], None]) -> list[CheckRecord]:
    """Check what the sources hold, so that the day has one verdict however its rows came.

    An expectation that each row meets or not is checked on the delivery since the base run. One on
    all rows together is checked by the final run, on all rows of the day, also if there are none;
    earlier runs check it on what has come, and that is provisional. So is, before the final run,
    every expectation on a changelog, whose wrong rows may still be taken back.
    """
    return [
        _check(work, source.name, frame, rows, part.wanted, progress, part.name)
        for source in work.inputs.manifest.sources
        for part in _parts(work, source)
        for frame, rows in _rows_of(work, source, part)
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
    from_others = bool(manifest.base_generation or manifest.inherits)
    rows_go = source.change == "changelog" or from_others
    by_parts = () if rows_go else tuple(one for one in wanted if one.holds_by_parts)
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


def _rows_of(work: Work, source: ManifestSource, part: _Part) -> Iterator[tuple[Frame, int]]:
    """The rows that a part is checked on, and how many; nothing if there is nothing to check: no
    expectation, or an early run to which nothing new has come."""
    came = sum(file.rows for file in _files(work, source, "delta"))
    if not part.wanted or not (came or (part.version == "snapshot" and not part.provisional)):
        return
    files = _files(work, source, part.version)
    frame, rows = read_files(work.engine, source, files), sum(file.rows for file in files)
    if source.change == "changelog":
        frame = consolidated(work.engine, source, frame, once=only_adds(files))
        rows = frame.count()
    yield frame, rows


def check_result(
    work: Work, result: ArtifactPartition, progress: Callable[[str], None]
) -> list[CheckRecord]:
    """Check the rows that were written, not the query that made them."""
    expectations = work.inputs.manifest.expectations
    if not expectations:
        return []
    files = [work.store.uri(f"{result.folder}/{file.name}") for file in result.files]
    frame = work.engine.read(files, result.columns)
    return [_check(work, RESULT_FAMILY, frame, result.rows, expectations, progress)]


def _check(
    work: Work,
    target: str,
    frame: Frame,
    rows: int,
    expectations: Sequence[Expectation],
    progress: Callable[[str], None],
    name: str = "",
) -> CheckRecord:
    at, run = work.inputs.at, work.inputs.plan.run.index
    provisional = name == "so-far"
    with work.engine.working_on(work.label(_STAGE)):
        findings = evaluate(frame, expectations)
    checks = CheckReport(
        report=at.report,
        day=at.day,
        run=run,
        attempt=work.attempt,
        target=target,
        engine=work.engine.name,
        rows=rows,
        findings=findings,
        provisional=provisional,
    )
    key = f"{at.checks(run, work.attempt)}/{'.'.join(filter(None, (target, name)))}"
    work.store.put(f"{key}.html", render_checks(checks))
    work.store.put(f"{key}.json", encode_checks(checks))
    for finding in findings:
        if finding.outcome != "passed":
            said = "provisional" if provisional else finding.severity
            progress(f"{target}: {said}: {finding.sentence}")
    critical, warnings = checks.count("critical"), checks.count("warning")
    if provisional:
        return CheckRecord(target=target, key=f"{key}.json", provisional=critical + warnings)
    return CheckRecord(target=target, key=f"{key}.json", critical=critical, warnings=warnings)


def evaluate(frame: Frame, expectations: Sequence[Expectation]) -> tuple[Finding, ...]:
    """One finding per expectation, in their order. Never raises for what an expectation says."""
    # Read at import time; without it every run would report itself to the package's makers.
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    _import_when_needed("scipy.stats")
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    # Not persisted: the package would leave every frame cached until the session ends.
    source = context.data_sources.add_spark("run", persist=False)
    batch = source.add_dataframe_asset("rows").add_batch_definition_whole_dataframe("all")
    suite = context.suites.add(gx.ExpectationSuite(name="suite"))
    findings: dict[int, Finding] = {}
    for number, expectation in enumerate(expectations):
        try:
            suite.add_expectation(_build(expectation, number))
        except (ValueError, TypeError) as error:  # pydantic's errors are ValueErrors
            findings[number] = _broken(expectation, str(error))
    if len(findings) < len(expectations):
        outcome = batch.get_batch(batch_parameters={"dataframe": frame}).validate(
            suite,
            result_format={
                "result_format": "SUMMARY",
                "partial_unexpected_count": _SAMPLE,
                "unexpected_index_column_names": _showable(frame),
            },
        )
        for result in outcome.results:
            raw = result.to_json_dict()
            number = raw["expectation_config"]["meta"]["number"]
            findings[number] = _finding(expectations[number], raw)
    return tuple(findings[number] for number in range(len(expectations)))


def _import_when_needed(name: str) -> None:
    """Let a module be imported by who first looks into it. Great Expectations imports scipy.stats
    for two of its expectations, which is a quarter of the 2.3 CPU seconds that its import takes in
    every run that checks something."""
    spec = None if name in sys.modules else importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        return
    loader = spec.loader = importlib.util.LazyLoader(spec.loader)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    package, _, member = name.rpartition(".")
    setattr(sys.modules[package], member, module)


def _build(expectation: Expectation, number: int) -> Any:
    from great_expectations.expectations.registry import get_expectation_impl

    arguments = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in expectation.arguments
    }
    kind = get_expectation_impl(expectation.type)
    return kind(**arguments, severity=expectation.severity, meta={"number": number})


def _showable(frame: Frame) -> list[str]:
    """The columns whose values a sample can show as JSON."""
    return [
        field.name
        for field in frame.schema.fields
        if not field.dataType.simpleString().startswith(("array", "map", "struct", "binary"))
    ]


def _finding(expectation: Expectation, raw: dict[str, Any]) -> Finding:
    if message := _exception(raw.get("exception_info") or {}):
        return _broken(expectation, message)
    result = raw.get("result") or {}
    rows = result.get("partial_unexpected_index_list") or ()
    return Finding(
        expectation=expectation.type,
        arguments=expectation.arguments,
        severity=expectation.severity,
        outcome="passed" if raw["success"] else "failed",
        observed=_plain(result.get("observed_value")),
        checked=result.get("element_count"),
        unexpected=result.get("unexpected_count"),
        rows=tuple(_plain(row) for row in rows[:_SAMPLE]),
    )


def _exception(info: dict[str, Any]) -> str:
    """The message of a check that could not be evaluated. It is one record, or one per metric."""
    records = [info] if "raised_exception" in info else list(info.values())
    for record in records:
        if isinstance(record, dict) and record.get("raised_exception"):
            return str(record.get("exception_message") or "no message").strip()
    return ""


def _broken(expectation: Expectation, message: str) -> Finding:
    return Finding(
        expectation=expectation.type,
        arguments=expectation.arguments,
        severity=expectation.severity,
        outcome="broken",
        message=message.strip()[:500],
    )


def _plain(value: Any) -> Any:
    """A JSON value, whatever the package put there; NaN and infinities as text."""
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, str | int | bool) else str(value)
