"""The page of a check report: which expectations did not pass, with some of the rows.

The page is self-contained: no script, no style sheet or picture from elsewhere. The template
escapes every value, since rows and messages hold whatever the data holds.
"""

from __future__ import annotations

import json

from jinja2 import Environment, StrictUndefined

from forerun.include.days.findings import CheckReport, Finding

_PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{ title }}</title><style>
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;
color:#1d2433;background:#fbfbfd}
h1{font-size:1.4rem;margin-bottom:.2rem}.sub{color:#66708a;margin-top:0}
.f{border:1px solid #dfe3ec;border-left-width:6px;border-radius:8px;background:#fff;
padding:.8rem 1rem;margin:1rem 0}
.passed{border-left-color:#2f9e6e}.failed{border-left-color:#d64545}
.broken{border-left-color:#b7791f}
.tag{float:right;font-size:.8rem;color:#66708a}code{font:13px ui-monospace,monospace}
table{border-collapse:collapse;margin-top:.6rem;font-size:.85rem;display:block;overflow-x:auto}
td,th{border:1px solid #e4e8f0;padding:.2rem .5rem;text-align:left}th{background:#f2f4f9}
</style></head><body>
<h1>{{ verdict }}</h1>
<p class="sub">{{ title }} · run {{ checks.run }} · {{ checks.rows }} rows ·
attempt {{ checks.attempt }} · {{ checks.engine }}</p>
{% if checks.provisional %}
<p class="sub">Provisional: over what has come by this run. The final run checks the whole day.</p>
{% endif %}
{% for finding in checks.findings %}
<section class="f {{ finding.outcome }}">
<span class="tag">{{ finding.outcome }} · {{ finding.severity }}</span>
<code>{{ finding.expectation }}</code>
<div>{{ said(finding) }}</div><div>{{ seen(finding) }}</div>
{% if finding.rows %}
<table><tr>{% for name in finding.rows[0] %}<th>{{ name }}</th>{% endfor %}</tr>
{% for row in finding.rows %}
<tr>{% for name in finding.rows[0] %}<td>{{ json(row.get(name)) }}</td>{% endfor %}</tr>
{% endfor %}
</table>
{% endif %}
</section>
{% endfor %}
</body></html>
"""


def render_checks(checks: CheckReport) -> bytes:
    """The check report as a page of HTML, in UTF-8."""
    failed = sum(finding.outcome != "passed" for finding in checks.findings)
    count = len(checks.findings)
    verdict = f"{failed} of {count} expectations did not pass"
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    page = environment.from_string(_PAGE).render(
        title=f"{checks.target} of {checks.report}, {checks.day}",
        verdict=verdict if failed else f"All {count} expectations hold",
        checks=checks,
        said=_said,
        seen=_seen,
        json=json.dumps,
    )
    return page.encode()


def _said(finding: Finding) -> str:
    """The arguments of an expectation, in one line."""
    return ", ".join(f"{name} = {json.dumps(value)}" for name, value in finding.arguments)


def _seen(finding: Finding) -> str:
    """Return the line that says what a check found in the data."""
    seen = []
    if finding.checked is not None:
        seen.append(f"{finding.unexpected} of {finding.checked} rows do not meet it")
    if finding.observed is not None:
        seen.append(f"observed {json.dumps(finding.observed)}")
    if finding.message:
        seen.append(finding.message)
    return "; ".join(seen)
