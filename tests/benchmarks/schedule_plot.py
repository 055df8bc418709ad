"""Plots of many small groups of bars, as SVG: a panel a sweep, a group a case, a bar a strategy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

_LEFT, _HEAD, _HEIGHT, _FOOT, _WIDTH = 46, 70, 110, 58, 860
_STYLE = """\
    .bg { fill: #fbfaf7 } .ink { fill: #26323f } .soft { fill: #66727e } .grid { stroke: #d7d3cb }
    .s0 { fill: #1f6f8b } .s1 { fill: #7fb3c8 } .s2 { fill: #d98e4a } .s3 { fill: #b9b2a6 }"""


@dataclass(frozen=True, slots=True)
class Panel:
    """``groups``: the label of each case, a text below it, and a share from 0 to 1 a series."""

    title: str
    groups: Sequence[tuple[str, str, Sequence[float]]]


def svg(title: str, series: Sequence[str], panels: Sequence[Panel]) -> str:
    """The panels below one another, under a legend of up to four series."""
    high = _HEIGHT + _FOOT
    size = f"{_LEFT + _WIDTH + 14} {_HEAD + high * len(panels)}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img"',
        '  font-family="system-ui, sans-serif" font-size="12">',
        f"  <title>{escape(title)}</title>",
        f"  <style>\n{_STYLE}\n  </style>",
        '  <rect class="bg" width="100%" height="100%" rx="10"/>',
        f'  <text class="ink" x="{_LEFT}" y="26" font-size="15">{escape(title)}</text>',
    ]
    for number, name in enumerate(series):
        x = _LEFT + 110 * number
        lines.append(f'  <rect class="s{number}" x="{x}" y="38" width="12" height="12"/>')
        lines.append(f'  <text class="soft" x="{x + 17}" y="48">{escape(name)}</text>')
    for number, panel in enumerate(panels):
        lines += _panel(panel, _HEAD + number * high, series)
    return "\n".join([*lines, "</svg>", ""])


def _panel(panel: Panel, top: float, series: Sequence[str]) -> Iterator[str]:
    foot = top + 20 + _HEIGHT - 20
    tall = _HEIGHT - 24
    yield f'  <text class="ink" x="{_LEFT}" y="{top + 12}">{escape(panel.title)}</text>'
    for share in (0.0, 0.5, 1.0):
        y = foot - share * tall
        yield f'  <path class="grid" d="M{_LEFT} {y:.1f} h{_WIDTH}"/>'
        yield (
            f'  <text class="soft" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
            f"{share:.0%}</text>"
        )
    each = _WIDTH / len(panel.groups)
    wide = each * 0.8 / len(series)
    for place, (label, below, shares) in enumerate(panel.groups):
        left = _LEFT + each * (place + 0.1)
        for number, (name, share) in enumerate(zip(series, shares, strict=True)):
            tip = f"{label}, {name}: {share:.0%}"
            # A share of nothing is shown as a line, so that it does not look forgotten.
            high = max(share * tall, 1.5)
            yield (
                f'  <rect class="s{number}" x="{left + number * wide:.1f}" '
                f'y="{foot - high:.1f}" width="{wide - 2:.1f}" height="{high:.1f}">'
                f"<title>{escape(tip)}</title></rect>"
            )
        middle = left + each * 0.4
        for text, kind, y in ((label, "ink", foot + 16), (below, "soft", foot + 31)):
            yield (
                f'  <text class="{kind}" x="{middle:.1f}" y="{y:.1f}" text-anchor="middle">'
                f"{escape(text)}</text>"
            )
