"""The outcome of the expectations on one delivery or result: a record, and a page to read.

The page is self-contained: no script, no style sheet or picture from elsewhere, everything escaped.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

Outcome = Literal["passed", "failed", "broken"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One expectation and what was seen.

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
        """What failed, in one line, for a log or an alarm."""
        said = ", ".join(f"{name}={value!r}" for name, value in self.arguments)
        what = f"{self.expectation}({said})"
        if self.outcome == "broken":
            return f"{what}: the check is broken: {self.message}"
        seen = f"{self.unexpected} of {self.checked} rows" if self.checked is not None else ""
        seen = seen or f"observed {json.dumps(self.observed)}"
        return f"{what}: {self.outcome}, {seen}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """All findings on one target: a source's delivery, or ``result``."""

    report: str
    day: str
    run: int
    attempt: str
    target: str
    engine: str
    rows: int
    findings: tuple[Finding, ...]

    def count(self, severity: str) -> int:
        """How many expectations of a severity did not pass. A broken check has not passed."""
        return sum(f.severity == severity and f.outcome != "passed" for f in self.findings)


def encode_checks(checks: CheckReport) -> bytes:
    """The report as JSON."""
    body = asdict(checks)
    for finding, raw in zip(checks.findings, body["findings"], strict=True):
        raw["arguments"] = dict(finding.arguments)
        raw["sentence"] = finding.sentence
    text = json.dumps(body, indent=1, ensure_ascii=False, sort_keys=True)
    return (text + "\n").encode()


_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;
color:#1d2433;background:#fbfbfd}
h1{font-size:1.4rem;margin-bottom:.2rem}.sub{color:#66708a;margin-top:0}
.f{border:1px solid #dfe3ec;border-left-width:6px;border-radius:8px;background:#fff;
padding:.8rem 1rem;margin:1rem 0}
.passed{border-left-color:#2f9e6e}.failed{border-left-color:#d64545}.broken{border-left-color:#b7791f}
.tag{float:right;font-size:.8rem;color:#66708a}code{font:13px ui-monospace,monospace}
table{border-collapse:collapse;margin-top:.6rem;font-size:.85rem;display:block;overflow-x:auto}
td,th{border:1px solid #e4e8f0;padding:.2rem .5rem;text-align:left}th{background:#f2f4f9}
"""


def render_checks(checks: CheckReport) -> bytes:
    """The report as a page of HTML."""
    failed = sum(finding.outcome != "passed" for finding in checks.findings)
    verdict = f"{failed} of {len(checks.findings)} expectations did not pass"
    if not failed:
        verdict = f"All {len(checks.findings)} expectations hold"
    title = f"{checks.target} of {checks.report}, {checks.day}"
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{_text(verdict)}</h1><p class='sub'>{_text(title)} · run {checks.run} · ",
        f"{checks.rows} rows · attempt {_text(checks.attempt)} · {_text(checks.engine)}</p>",
        *map(_finding, checks.findings),
        "</body></html>\n",
    ]
    return "".join(parts).encode()


def _finding(finding: Finding) -> str:
    said = ", ".join(f"{name} = {json.dumps(value)}" for name, value in finding.arguments)
    seen = []
    if finding.checked is not None:
        seen.append(f"{finding.unexpected} of {finding.checked} rows do not meet it")
    if finding.observed is not None:
        seen.append(f"observed {json.dumps(finding.observed)}")
    if finding.message:
        seen.append(finding.message)
    return (
        f"<section class='f {finding.outcome}'><span class='tag'>{finding.outcome} · "
        f"{_text(finding.severity)}</span><code>{_text(finding.expectation)}</code>"
        f"<div>{_text(said)}</div><div>{_text('; '.join(seen))}</div>{_table(finding.rows)}"
        "</section>"
    )


def _table(rows: Iterable[dict[str, Any]]) -> str:
    rows = list(rows)
    if not rows:
        return ""
    names = list(rows[0])
    head = "".join(f"<th>{_text(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{_text(json.dumps(row.get(name)))}</td>" for name in names) + "</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _text(value: object) -> str:
    return html.escape(str(value))
