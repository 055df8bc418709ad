"""Have Great Expectations say what holds of the rows of a frame. The package is imported only if
there is something to check: importing it takes seconds.
"""

from __future__ import annotations

import importlib.util
import math
import os
import sys
from collections.abc import Sequence
from typing import Any

from forerun.include.days.findings import Finding
from forerun.include.reports.expectations import Expectation
from forerun.spark_jobs.engine import Frame

_SAMPLE = 10


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
