"""A repair as a person reads it, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from forerun.include.oncall.overlapping import OverlappingDays
from forerun.include.sources.corrections import Correction
from forerun.include.verify.row_diff import counts
from forerun.past.repair_engines import ChosenEngine
from forerun.past.repair_work import RepairedVersion
from forerun.planner.contract.plan_v1 import WEIGHT_COLUMN

_MOST_FILES = 20
_MOST_ROWS = 20
_MOST_WIDE = 40


def preview_lines(chosen: ChosenEngine) -> Iterator[str]:
    """Yield lines on what changed, and on what repairing it takes on the engine that computes
    it."""
    repair = chosen.repair
    there = repair.published
    yield f"{there.report} of {there.day}, version {there.version}, published {there.published_at}"
    if repair.corrections is None:
        yield "what it has read is not known any more: clean-up has deleted that"
    elif not repair.corrections:
        yield "nothing has changed in its sources since: there is nothing to repair"
        return
    else:
        yield f"files of its sources that changed since: {len(repair.corrections)}"
        for one in repair.corrections[:_MOST_FILES]:
            yield f"  {one.kind:<9} {one.source}: {one.uri}, {_rows(one)}"
        if len(repair.corrections) > _MOST_FILES:
            yield f"  and {len(repair.corrections) - _MOST_FILES} more (--json names all)"
    yield f"what repairing it takes on {chosen.engine.about}, by estimate:"
    for planned in repair.plans:
        mark = " (chosen)" if planned is repair.best else ""
        yield f"  {planned.cpu_s:8.1f} CPU s  {planned.how}{mark}"
    for unusable in repair.unusable:
        yield f"  not from {unusable.what}: {unusable.why}"
    for name, why in chosen.passed_over:
        yield f"  not on {name}: {why}"


def overlap_lines(report: str, others: OverlappingDays, store: str) -> Iterator[str]:
    """Yield lines on the other days of a rolling range that hold what was corrected."""
    if not others.days:
        return
    first, last = others.days[0], others.days[-1]
    count = f"{len(others.days)} other published day" + "s" * (len(others.days) > 1)
    yield f"what was corrected is in the range of {count}, from {first} to {last}:"
    yield f"  {others.anew_cpu_s:8.1f} CPU s  if all are computed anew"
    yield f"  forerun backfill {report} {first} {last} --store {store} --preview"


def diff_lines(version: RepairedVersion) -> Iterator[str]:
    """Yield lines that show which rows of the result differ from the published ones."""
    added, removed = counts(version.diff)
    result = version.commit.result
    rows = result.rows if result is not None else 0
    yield f"{added:,} rows added, {removed:,} taken away; {rows:,} rows in all"
    yield from _table(version.diff.slice(0, _MOST_ROWS))
    if version.diff.num_rows > _MOST_ROWS:
        yield f"  and {version.diff.num_rows - _MOST_ROWS:,} more"
    yield f"all of the difference, with {WEIGHT_COLUMN} for how often: {version.diff_uri}"


def as_json(
    chosen: ChosenEngine, others: OverlappingDays, version: RepairedVersion | None = None
) -> dict[str, object]:
    """All that is known of a repair."""
    repair = chosen.repair
    corrections = repair.corrections
    record: dict[str, object] = {
        "report": repair.published.report,
        "day": repair.published.day,
        "published": repair.published.version,
        "engine": chosen.engine.name,
        "passed_over": [{"engine": name, "why": why} for name, why in chosen.passed_over],
        "corrections": None if corrections is None else [_correction(one) for one in corrections],
        "plans": [
            {
                "from": one.how,
                "estimated_cpu_s": one.cpu_s,
                "method": one.result.plan.method,
            }
            for one in repair.plans
        ],
        "anew_estimated_cpu_s": repair.anew.cpu_s,
        "other_days": [day.isoformat() for day in others.days],
        "other_days_estimated_cpu_s": others.anew_cpu_s,
        "unusable": [{"what": one.what, "why": one.why} for one in repair.unusable],
    }
    if version is None:
        return record
    added, removed = counts(version.diff)
    return record | {
        "added": added,
        "removed": removed,
        "diff": version.diff_uri,
        "process_cpu_s": version.process_cpu_s,
        "version": version.pointer.version if version.pointer else None,
        "changed_again": version.changed_again,
    }


def _rows(one: Correction) -> str:
    before, now = one.before, one.now
    if before is not None and now is not None:
        return f"{before.rows:,} rows, now {now.rows:,}"
    file = before or now
    return f"{file.rows:,} rows" if file is not None else "no rows"


def _correction(one: Correction) -> dict[str, object]:
    return {
        "kind": one.kind,
        "source": one.source,
        "uri": one.uri,
        "rows_before": one.before.rows if one.before else None,
        "rows": one.now.rows if one.now else None,
    }


def _table(rows: pa.Table) -> Iterator[str]:
    """Rows in columns, each with its sign."""
    names = [name for name in rows.schema.names if name != WEIGHT_COLUMN]
    weights = rows.column(WEIGHT_COLUMN).to_pylist()
    lines = [["", *names]]
    for place, weight in enumerate(weights):
        sign = ("+" if weight > 0 else "-") + (f"{abs(weight)}x" if abs(weight) > 1 else "")
        values = [str(rows.column(name)[place].as_py())[:_MOST_WIDE] for name in names]
        lines.append([sign, *values])
    widths = [max(len(line[i]) for line in lines) for i in range(len(names) + 1)]
    for line in lines if weights else ():
        yield "  " + "  ".join(f"{v:<{w}}" for v, w in zip(line, widths, strict=True)).rstrip()
