"""Plots as SVG: days beside batch as bars, two a query with a mark beside them and a line at 1; and
lines over one axis, which begins at 0 or is in powers of two."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

_LEFT, _TOP, _WIDTH, _HEIGHT, _FOOT = 64, 78, 842, 260, 54
_SIZE = f"{_LEFT + _WIDTH + 14} {_TOP + _HEIGHT + _FOOT}"
_LEGEND = 118
"""The width of an entry of the legend."""
_LEAST_FOR_A_LABEL = 22
_COLOURS = ("#2f6f9f", "#b4532a", "#4f8a4c", "#8a5a9e", "#c49a1a", "#4a9d9c", "#7d7468")
_STYLE = """\
    .bg { fill: #fbfaf7 } .ink { fill: #26323f } .soft { fill: #66727e } .grid { stroke: #d7d3cb }
    .one { stroke: #b4532a; stroke-width: 1.5 } .executors { fill: #2f6f9f }
    .processes { fill: #cfe0ee; stroke: #66727e; stroke-width: .5 }
    .own { stroke: #26323f; stroke-width: 2 } .line { fill: none; stroke-width: 2 }"""


@dataclass(frozen=True, slots=True)
class Bars:
    """Ratios to batch of one query: of its day by executors and by processes, and of what is marked
    beside it (batch in stages of our own), by executors."""

    query: str
    executors: float
    processes: float
    own: float


@dataclass(frozen=True, slots=True)
class Line:
    """Points (x, y) in the order of x, with the name that the legend gives them."""

    name: str
    points: Sequence[tuple[float, float]]


def _svg(title: str, body: Iterable[str]) -> str:
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SIZE}" role="img"',
        '  font-family="system-ui, sans-serif" font-size="12">',
        f"  <title>{escape(title)}</title>",
        f"  <style>\n{_STYLE}\n  </style>",
        '  <rect class="bg" width="100%" height="100%" rx="10"/>',
        _text("ink", _LEFT, 26, title, 'font-size="15"'),
    ]
    return "\n".join([*lines, *body, "</svg>", ""])


def _text(kind: str, x: float, y: float, text: str, more: str = "") -> str:
    more = f" {more}" if more else ""
    return f'  <text class="{kind}" x="{x:.1f}" y="{y:.1f}"{more}>{escape(text)}</text>'


def _grid(ticks: Iterable[float], at: Callable[[float], float]) -> Iterator[str]:
    for value in ticks:
        yield f'  <path class="grid" d="M{_LEFT} {at(value):.1f} h{_WIDTH}"/>'
        yield _text("soft", _LEFT - 6, at(value) + 4, f"{value:.3g}", 'text-anchor="end"')


# -- bars ----------------------------------------------------------------------------------------


def bars_svg(title: str, bars: Sequence[Bars], mark: str = "own batch, executors") -> str:
    """The plot of all queries, in the order in which they are given; ``mark`` names what is
    marked."""
    most = max((max(one.executors, one.processes, one.own) for one in bars), default=1.0)
    top = max(1.25, math.ceil(4 * most) / 4)
    step = 0.25 if top <= 2 else math.ceil(top / 8)

    def at(ratio: float) -> float:
        return _TOP + _HEIGHT * (1 - ratio / top)

    lines = [*_legend(mark), *_grid((n * step for n in range(math.floor(top / step) + 1)), at)]
    each = _WIDTH / max(len(bars), 1)
    for number, one in enumerate(bars):
        lines += _group(one, _LEFT + number * each, each, at)
    return _svg(title, [*lines, f'  <path class="one" d="M{_LEFT} {at(1.0):.1f} h{_WIDTH}"/>'])


def _legend(mark: str) -> Iterator[str]:
    yield f'  <rect class="executors" x="{_LEFT}" y="38" width="12" height="12"/>'
    yield _text("soft", _LEFT + 17, 48, "day, executors")
    yield f'  <rect class="processes" x="{_LEFT + 120}" y="38" width="12" height="12"/>'
    yield _text("soft", _LEFT + 137, 48, "day, whole processes")
    yield f'  <path class="own" d="M{_LEFT + 280} 44 h14"/>'
    yield _text("soft", _LEFT + 299, 48, mark)
    yield f'  <path class="one" d="M{_LEFT + 530} 44 h14"/>'
    yield _text("soft", _LEFT + 549, 48, "batch, the user's own text")


def _group(one: Bars, left: float, each: float, at: Callable[[float], float]) -> Iterator[str]:
    hint = f"{one.query}: {one.executors:.2f} by executors, {one.processes:.2f} by processes"
    yield f"  <g><title>{escape(hint)}, marked {one.own:.2f}</title>"
    for kind, ratio, shift in (
        ("executors", one.executors, 0.1),
        ("processes", one.processes, 0.5),
    ):
        yield (
            f'    <rect class="{kind}" x="{left + shift * each:.1f}" y="{at(ratio):.1f}" '
            f'width="{0.4 * each:.1f}" height="{at(0.0) - at(ratio):.1f}"/>'
        )
    x = left + 0.06 * each
    yield f'    <path class="own" d="M{x:.1f} {at(one.own):.1f} h{0.88 * each:.1f}"/>'
    if each >= _LEAST_FOR_A_LABEL:
        yield _text("ink", left + each / 2, at(0.0) + 18, one.query, 'text-anchor="middle"')
    yield "  </g>"


# -- lines ---------------------------------------------------------------------------------------


def lines_svg(
    title: str, x_name: str, y_name: str, given: Iterable[Line], *, powers: bool = False
) -> str:
    """The plot of these lines, at most seven; with ``powers``, x is in powers of two."""
    lines = list(given)
    points = [point for line in lines for point in line.points] or [(1.0, 1.0)]
    low = min(x for x, _ in points) if powers else 0.0
    axes = _Axes(low, max(x for x, _ in points), max(y for _, y in points), powers)
    out = [*axes.drawn(x_name, y_name)]
    for number, (line, colour) in enumerate(zip(lines, _COLOURS[: len(lines)], strict=True)):
        x = _LEFT + _LEGEND * number
        out += _line(line, colour, axes)
        out.append(f'  <rect fill="{colour}" x="{x}" y="38" width="12" height="12"/>')
        out.append(_text("soft", x + 17, 48, line.name))
    return _svg(title, out)


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
        yield from _grid((self.top * part / 4 for part in range(5)), self.y)
        middle = 'text-anchor="middle"'
        for value in self._ticks():
            yield _text("soft", self.x(value), _TOP + _HEIGHT + 18, f"{value:g}", middle)
        yield _text("ink", _LEFT + _WIDTH / 2, _TOP + _HEIGHT + 40, x_name, middle)
        yield _text("ink", _LEFT - 50, _TOP - 10, y_name)

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
