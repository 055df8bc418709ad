"""The page of a day: what each report's runs read, kept and cost, and that the result is batch's.

One HTML file without scripts or requests, so that it can be kept, mailed, or put on a wall.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from forerun.demo.charts import costs, timeline
from forerun.demo.style import STYLE
from forerun.demo.verdict import early_words
from forerun.planner.explain.reasons import reason_text
from forerun.simulation.accounts import DayAccount, RunAccount


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReport:
    """A report on the page: its account, a title and a sentence, and the times of its runs."""

    title: str
    about: str
    times: tuple[str, ...]
    day: DayAccount


Tiles = Sequence[tuple[str, str]]
"""Figures to be seen first, each with what it is."""


def page(
    title: str,
    lead: str,
    tiles: Tiles,
    said: Sequence[str],
    reports: Sequence[PageReport],
    footer: str,
) -> str:
    """The whole HTML text. ``tiles`` and ``said`` are the verdict over all reports."""
    body = "".join(_report(report) for report in reports)
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>"
        f"<h1>{escape(title)}</h1><p class='lead'>{escape(lead)}</p>"
        f"{_summary(reports, tiles, said)}{body}<footer>{escape(footer)}</footer></main></body>"
        "</html>\n"
    )


def _summary(reports: Sequence[PageReport], tiles: Tiles, said: Sequence[str]) -> str:
    rows = "".join(
        f"<tr><td>{escape(r.title)}</td><td class='left'>{_chip(r.day)}</td>"
        f"<td>{_percent(r.day.weighted_ratio)}</td><td>{_percent(r.day.process_ratio)}</td>"
        f"<td>{_percent(r.day.final_ratio)}</td>"
        f"<td>{escape(early_words(r.day))}</td></tr>"
        for r in reports
    )
    return (
        f"<div class='card'>{_shown(tiles)}<div class='wide'><table><tr><th>report</th>"
        "<th class='left'>result</th><th>weighted cost,<br>of batch</th>"
        "<th>by whole<br>processes</th><th>final run,<br>of batch</th><th>early runs</th></tr>"
        f"{rows}</table></div><ul class='plain what said'>"
        f"{''.join(f'<li>{escape(text)}</li>' for text in said)}</ul></div>"
    )


def _report(report: PageReport) -> str:
    day = report.day
    parts = [
        f"<section class='card'><div class='head'><h2>{escape(report.title)}</h2>{_chip(day)}",
        f"</div><p class='what'>{escape(report.about)}</p>{_tiles(day)}",
        f"<h3>The day</h3>{timeline(day, report.times)}",
        f"<h3>CPU seconds times price</h3>{costs(day)}",
        f"<h3>What each run read and kept</h3><div class='wide'>{_runs(day)}</div>",
        *_differences(day),
        f"<h3>How it was computed</h3>{''.join(_plans(day))}{_waiting(day)}",
        f"<h3>The report</h3><div class='wide'>{_sample(day)}</div></section>",
    ]
    return "".join(parts)


def _chip(day: DayAccount) -> str:
    if day.equal:
        return "<span class='chip good'>✓ equal to batch</span>"
    return "<span class='chip bad'>✗ differs from batch</span>"


def _tiles(day: DayAccount) -> str:
    final = day.runs[-1]
    early_rows = sum(run.rows_read for run in day.runs[:-1])
    tiles = (
        (_percent(day.weighted_ratio), "weighted cost, of batch"),
        (_percent(day.final_ratio), "the final run, of batch"),
        (f"{final.rows_read:,}", f"source rows left for the final run; {early_rows:,} read before"),
        (_size(sum(run.state_bytes for run in day.runs)), "kept between runs"),
    )
    return _shown(tiles)


def _shown(tiles: Tiles) -> str:
    inside = (
        f"<div class='tile'><b>{escape(b)}</b><span>{escape(t)}</span></div>" for b, t in tiles
    )
    return f"<div class='tiles'>{''.join(inside)}</div>"


def _runs(day: DayAccount) -> str:
    head = (
        "<tr><th>run</th><th>price</th><th>arrived</th><th>source rows</th><th>kept rows<br>read"
        "</th><th>bytes read</th><th>kept</th><th>executor<br>CPU s</th><th>process<br>CPU s</th>"
        "<th>wall s</th></tr>"
    )
    rows = "".join(_run(day, run) for run in day.runs)
    batch = day.batch
    last = (
        f"<tr><td><span class='dot' style='background:var(--batch)'></span>batch</td>"
        f"<td>{day.runs[-1].weight:g}</td><td>100%</td><td>{batch.rows_read:,}</td><td></td>"
        f"<td>{_size(batch.bytes_read)}</td><td></td><td>{batch.cpu_s:.2f}</td>"
        f"<td>{batch.process_cpu_s:.1f}</td><td>{batch.wall_s:.1f}</td></tr>"
    )
    return f"<table>{head}{rows}{last}</table>"


def _run(day: DayAccount, run: RunAccount) -> str:
    final = run.index == len(day.runs)
    tint = "var(--final)" if final else "var(--early)"
    name = "final run" if final else f"run {run.index}"
    head = (
        f"<tr><td><span class='dot' style='background:{tint}'></span>{name}</td>"
        f"<td>{run.weight:g}</td><td>{run.arrived:.0%}</td>"
    )
    if run.skipped:
        return f"{head}<td class='no' colspan='7'>not opened: not worth an application</td></tr>"
    return (
        f"{head}<td>{run.rows_read:,}</td><td>{run.state_rows_read:,}</td>"
        f"<td>{_size(run.bytes_read)}</td><td>{_size(run.state_bytes)}</td>"
        f"<td>{run.cpu_s:.2f}</td><td>{run.process_cpu_s:.1f}</td><td>{run.wall_s:.1f}</td></tr>"
    )


def _differences(day: DayAccount) -> Iterator[str]:
    if day.differences:
        items = "".join(f"<li>{escape(text)}</li>" for text in day.differences)
        yield f"<h3>Differences</h3><ul class='plain bad'>{items}</ul>"
    if day.notes:
        yield f"<p class='what'>{escape('; '.join(day.notes))}</p>"


def _plans(day: DayAccount) -> Iterator[str]:
    for run in day.runs:
        if run.skipped:
            continue
        name = "The final run" if run.index == len(day.runs) else f"Run {run.index}"
        count = len(run.stages)
        small = f"{count} stage{'s' if count != 1 else ''}, estimated {run.estimated_cost:.1f} s"
        sql = "\n\n".join(
            f"-- {stage.title}: {stage.rows:,} rows\n{stage.sql.strip()}" for stage in run.stages
        )
        yield (
            f"<details{' open' if run.index == len(day.runs) else ''}><summary>{name}"
            f"<small>{small}</small></summary><pre>{escape(run.flow.rstrip())}</pre>"
            f"<details><summary>SQL of its stages</summary><pre>{escape(sql)}</pre></details>"
            "</details>"
        )
    yield (
        "<details><summary>The report's SQL<small>as it was written, and as batch runs it</small>"
        f"</summary><pre>{escape(day.sql.strip())}</pre></details>"
    )


def _waiting(day: DayAccount) -> str:
    items = "".join(
        f"<li>{escape(', '.join(operators))}: {escape(reason_text(reason))}</li>"
        for reason, operators in day.waiting
    )
    if not items:
        return ""
    return f"<p class='what'>Waits for the final run:</p><ul class='plain what'>{items}</ul>"


def _sample(day: DayAccount) -> str:
    if not day.sample:
        return "<p class='what'>no rows</p>"
    head = "".join(f"<th>{escape(name)}</th>" for name in day.sample[0])
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(value)}</td>" for value in row.values()) + "</tr>"
        for row in day.sample
    )
    more = day.rows - len(day.sample)
    note = f"<p class='what'>and {more:,} more rows</p>" if more > 0 else ""
    return f"<table><tr>{head}</tr>{rows}</table>{note}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def _size(count: int) -> str:
    value, units = float(count), ("B", "kB", "MB", "GB", "TB")
    for unit in units:
        if value < 1000 or unit == units[-1]:
            return f"{value:.0f} {unit}" if value >= 10 or unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return ""
