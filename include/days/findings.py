"""The outcome of the expectations on one delivery or result.

Its page for readers is :mod:`forerun.include.days.findings_page`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

Outcome = Literal["passed", "failed", "broken"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The outcome of one expectation.

    ``broken`` means that the check itself could not be evaluated (a column that is not there, a
    type that it does not fit); it says nothing about the data. ``rows`` are some of the rows that
    fail, ``observed`` and ``rows`` are JSON values.
    """

    expectation: str
    arguments: tuple[tuple[str, Any], ...]
    severity: str
    outcome: Outcome
    observed: Any = None
    checked: int | None = None
    unexpected: int | None = None
    rows: tuple[dict[str, Any], ...] = ()
    message: str = ""

    @property
    def sentence(self) -> str:
        """The outcome in one line, for a log or an alarm."""
        said = ", ".join(f"{name}={value!r}" for name, value in self.arguments)
        what = f"{self.expectation}({said})"
        if self.outcome == "broken":
            return f"{what}: the check is broken: {self.message}"
        seen = f"{self.unexpected} of {self.checked} rows" if self.checked is not None else ""
        seen = seen or f"observed {json.dumps(self.observed)}"
        return f"{what}: {self.outcome}, {seen}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """All findings on one target: a source, or ``result``. ``provisional``: on what has come of a
    source by this run; the final run looks at all rows of the day."""

    report: str
    day: str
    run: int
    attempt: str
    target: str
    engine: str
    rows: int
    findings: tuple[Finding, ...]
    provisional: bool = False

    def count(self, severity: str) -> int:
        """Return how many expectations of a severity did not pass. A broken check has not
        passed."""
        return sum(f.severity == severity and f.outcome != "passed" for f in self.findings)


def encode_checks(checks: CheckReport) -> bytes:
    """The report as JSON."""
    body = asdict(checks)
    for finding, raw in zip(checks.findings, body["findings"], strict=True):
        raw["arguments"] = dict(finding.arguments)
        raw["sentence"] = finding.sentence
    text = json.dumps(body, indent=1, ensure_ascii=False, sort_keys=True)
    return (text + "\n").encode()
