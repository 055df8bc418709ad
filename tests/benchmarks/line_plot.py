"""A plot of lines over one axis, as SVG: points joined by lines, a legend, axes that begin at 0 or
are in powers of two."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

_LEFT, _TOP, _WIDTH, _HEIGHT, _FOOT = 64, 78, 842, 260, 54
_COLOURS = ("#2f6f9f", "#b4532a", "#4f8a4c", "#8a5a9e", "#c49a1a", "#4a9d9c", "#7d7468")
_STYLE = """\
    .bg { fill: #fbfaf7 } .ink { fill: #26323f } .soft { fill: #66727e } .grid { stroke: #d7d3cb }
    .line { fill: none; stroke-width: 2 }"""
_LEGEND = 118
"""The width of an entry of the legend."""


@dataclass(frozen=True, slots=True)
class Line:
    """Points (x, y) in the order of x, with the name that the legend gives them."""

    name: str
    points: Sequence[tuple[float, float]]


def svg(
    title: str, x_name: str, y_name: str, given: Iterable[Line], *, powers: bool = False
) -> str:
    """The plot of these lines, at most seven; with ``powers``, x is in powers of two."""
    lines = list(given)
    points = [point for line in lines for point in line.points] or [(1.0, 1.0)]
    low = min(x for x, _ in points) if powers else 0.0
    axes = _Axes(low, max(x for x, _ in points), max(y for _, y in points), powers)
    size = f"{_LEFT + _WIDTH + 14} {_TOP + _HEIGHT + _FOOT}"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img"',
        '  font-family="system-ui, sans-serif" font-size="12">',
        f"  <title>{escape(title)}</title>",
        f"  <style>\n{_STYLE}\n  </style>",
        '  <rect class="bg" width="100%" height="100%" rx="10"/>',
        f'  <text class="ink" x="{_LEFT}" y="26" font-size="15">{escape(title)}</text>',
        *axes.drawn(x_name, y_name),
    ]
    for line, colour in zip(lines, _COLOURS[: len(lines)], strict=True):
        out += _line(line, colour, axes)
    for number, (line, colour) in enumerate(zip(lines, _COLOURS, strict=False)):
        x = _LEFT + _LEGEND * number
        out.append(f'  <rect fill="{colour}" x="{x}" y="38" width="12" height="12"/>')
        out.append(f'  <text class="soft" x="{x + 17}" y="48">{escape(line.name)}</text>')
    return "\n".join([*out, "</svg>", ""])


@dataclass(frozen=True, slots=True)
class _Axes:
    """Where a point of the data is on the plot."""

    low: float
    high: float
    top: float
    powers: bool

    def x(self, value: float) -> float:
        low, high, at = self.low, self.high, value
        if self.powers:
            low, high, at = math.log2(low), math.log2(high), math.log2(at)
        return _LEFT + _WIDTH * ((at - low) / (high - low) if high > low else 0.5)

    def y(self, value: float) -> float:
        return _TOP + _HEIGHT * (1 - (value / self.top if self.top else 0.0))

    def drawn(self, x_name: str, y_name: str) -> Iterator[str]:
        for part in range(5):
            value = self.top * part / 4
            y = self.y(value)
            yield f'  <path class="grid" d="M{_LEFT} {y:.1f} h{_WIDTH}"/>'
            yield (
                f'  <text class="soft" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
                f"{value:.3g}</text>"
            )
        for value in self._ticks():
            yield (
                f'  <text class="soft" x="{self.x(value):.1f}" y="{_TOP + _HEIGHT + 18}" '
                f'text-anchor="middle">{value:g}</text>'
            )
        foot = _TOP + _HEIGHT + 40
        yield (
            f'  <text class="ink" x="{_LEFT + _WIDTH / 2}" y="{foot}" text-anchor="middle">'
            f"{escape(x_name)}</text>"
        )
        yield f'  <text class="ink" x="{_LEFT - 50}" y="{_TOP - 10}">{escape(y_name)}</text>'

    def _ticks(self) -> list[float]:
        if not self.powers:
            return [round(self.high * part / 4, 3) for part in range(5)]
        first, last = math.ceil(math.log2(self.low)), math.floor(math.log2(self.high))
        return [2.0**power for power in range(first, last + 1)]


def _line(line: Line, colour: str, axes: _Axes) -> Iterator[str]:
    places = " ".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in line.points)
    yield f'  <polyline class="line" stroke="{colour}" points="{places}"/>'
    for x, y in line.points:
        yield (
            f'  <circle fill="{colour}" cx="{axes.x(x):.1f}" cy="{axes.y(y):.1f}" r="3.5">'
            f"<title>{escape(line.name)}: {x:.3g}, {y:.3g}</title></circle>"
        )
