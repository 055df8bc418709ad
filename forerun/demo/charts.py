"""The two drawings of the page: when the data came and the runs worked, and what they cost."""

from __future__ import annotations

from html import escape

from forerun.simulation.accounts import DayAccount, RunAccount

_WIDTH = 1000


def colour(run: RunAccount, runs: int) -> str:
    return "var(--final)" if run.index == runs else "var(--early)"


def timeline(day: DayAccount, times: tuple[str, ...]) -> str:
    """Arrival of each source as a bar that grows, the runs as marks on the line of the day."""
    left, right, top, step = 120, 28, 46, 26
    span = _WIDTH - left - right
    height = top + step * len(day.arrivals) + 34
    count = len(day.runs)
    places = [left + span * (i + 1) / count for i in range(count)]
    parts = [f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="Timeline of the day">']
    for row, (source, rows) in enumerate(day.arrivals):
        y = top + step * row
        total = max(rows[-1], 1)
        parts.append(f'<text class="soft" x="0" y="{y + 14}">{escape(source)}</text>')
        before = float(left)
        for i, have in enumerate(rows):
            new = have - (rows[i - 1] if i else 0)
            opacity = 0.25 + 0.75 * new / total
            parts.append(
                f'<rect x="{before + 1:.1f}" y="{y}" width="{places[i] - before - 2:.1f}" '
                f'height="18" rx="4" fill="var(--early2)" opacity="{opacity:.2f}"/>'
                f'<text x="{places[i] - 8:.1f}" y="{y + 13.5}" text-anchor="end" '
                f'font-size="12">+{new:,}</text>'
            )
            before = places[i]
    bottom = top + step * len(day.arrivals) + 6
    for run, x, time in zip(day.runs, places, times, strict=True):
        tint = "var(--batch)" if run.skipped else colour(run, count)
        name = "final run" if run.index == count else f"run {run.index}"
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="34" y2="{bottom}" stroke="{tint}" '
            f'stroke-width="2" stroke-dasharray="{"4 4" if run.skipped else "none"}"/>'
            f'<circle cx="{x:.1f}" cy="34" r="6" fill="{tint}"/>'
            f'<text class="strong" x="{x:.1f}" y="18" text-anchor="end">'
            f"{name}{' (not opened)' if run.skipped else ''}</text>"
            f'<text class="soft" x="{x:.1f}" y="{bottom + 18}" text-anchor="end">'
            f"{escape(time)}, price {run.weight:g}</text>"
        )
    return "".join([*parts, "</svg>"])


def costs(day: DayAccount) -> str:
    """Two bars of CPU seconds times price: the day's runs end to end, and batch."""
    weight = day.runs[-1].weight
    whole = weight * day.batch.cpu_s
    spent = [(run, run.weight * run.cpu_s) for run in day.runs if not run.skipped]
    scale = (_WIDTH - 260) / max(whole, sum(cost for _, cost in spent), 1e-9)
    parts = [f'<svg viewBox="0 0 {_WIDTH} 96" role="img" aria-label="Cost against batch">']
    parts.append('<text class="soft" x="0" y="27">Forerun</text>')
    x = 120.0
    for run, cost in spent:
        width = max(cost * scale, 1.5)
        name = "final run" if run.index == len(day.runs) else f"run {run.index}"
        parts.append(
            f'<rect x="{x:.1f}" y="8" width="{width:.1f}" height="30" rx="4" '
            f'fill="{colour(run, len(day.runs))}" stroke="var(--card)" stroke-width="2">'
            f"<title>{name}: {run.cpu_s:.2f} s × {run.weight:g}</title></rect>"
        )
        x += width
    total = sum(cost for _, cost in spent)
    parts.append(f'<text class="strong" x="{x + 10:.1f}" y="27">{total:.2f}</text>')
    wide = whole * scale
    parts.append(
        '<text class="soft" x="0" y="73">Batch</text>'
        f'<rect x="120" y="54" width="{wide:.1f}" height="30" rx="4" fill="var(--batch)"/>'
        f'<text class="strong" x="{130 + wide:.1f}" y="73">{whole:.2f}</text></svg>'
    )
    return "".join(parts)
