"""A plot of days beside batch, as SVG: two bars a query, a line at 1, and a mark beside them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

_LEFT, _TOP, _WIDTH, _HEIGHT, _FOOT = 46, 64, 860, 260, 46
_LEAST_FOR_A_LABEL = 22
_COLOURS = """\
    .bg { fill: #fbfaf7 } .ink { fill: #26323f } .soft { fill: #66727e } .grid { stroke: #d7d3cb }
    .one { stroke: #b4532a; stroke-width: 1.5 } .executors { fill: #2f6f9f }
    .processes { fill: #cfe0ee; stroke: #66727e; stroke-width: .5 }
    .own { stroke: #26323f; stroke-width: 2 }"""


@dataclass(frozen=True, slots=True)
class Bars:
    """Ratios to batch of one query: of its day by executors and by processes, and of what is marked
    beside it (batch in stages of our own), by executors."""

    query: str
    executors: float
    processes: float
    own: float


def svg(title: str, bars: Sequence[Bars], mark: str = "own batch, executors") -> str:
    """The plot of all queries, in the order in which they are given; ``mark`` names what is
    marked."""
    most = max((max(one.executors, one.processes, one.own) for one in bars), default=1.0)
    top = max(1.25, math.ceil(4 * most) / 4)
    size = f"{_LEFT + _WIDTH + 14} {_TOP + _HEIGHT + _FOOT}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img"',
        '  font-family="system-ui, sans-serif" font-size="12">',
        f"  <title>{escape(title)}</title>",
        f"  <style>\n{_COLOURS}\n  </style>",
        f'  <rect class="bg" width="100%" height="{_TOP + _HEIGHT + _FOOT}" rx="10"/>',
        f'  <text class="ink" x="{_LEFT}" y="26" font-size="15">{escape(title)}</text>',
        *_legend(mark),
        *_grid(top),
    ]
    each = _WIDTH / max(len(bars), 1)
    for number, one in enumerate(bars):
        lines += _group(one, _LEFT + number * each, each, top)
    one_at = _y(1.0, top)
    lines.append(f'  <path class="one" d="M{_LEFT} {one_at:.1f} h{_WIDTH}"/>')
    return "\n".join([*lines, "</svg>", ""])


def _y(ratio: float, top: float) -> float:
    return _TOP + _HEIGHT * (1 - ratio / top)


def _legend(mark: str) -> Iterator[str]:
    yield f'  <rect class="executors" x="{_LEFT}" y="38" width="12" height="12"/>'
    yield f'  <text class="soft" x="{_LEFT + 17}" y="48">day, executors</text>'
    yield f'  <rect class="processes" x="{_LEFT + 120}" y="38" width="12" height="12"/>'
    yield f'  <text class="soft" x="{_LEFT + 137}" y="48">day, whole processes</text>'
    yield f'  <path class="own" d="M{_LEFT + 280} 44 h14"/>'
    yield f'  <text class="soft" x="{_LEFT + 299}" y="48">{escape(mark)}</text>'
    yield f'  <path class="one" d="M{_LEFT + 530} 44 h14"/>'
    yield f'  <text class="soft" x="{_LEFT + 549}" y="48">batch, the user\'s own text</text>'


def _grid(top: float) -> Iterator[str]:
    step = 0.25 if top <= 2 else math.ceil(top / 8)
    for number in range(math.floor(top / step) + 1):
        at = _y(number * step, top)
        yield f'  <path class="grid" d="M{_LEFT} {at:.1f} h{_WIDTH}"/>'
        yield (
            f'  <text class="soft" x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">'
            f"{number * step:g}</text>"
        )


def _group(one: Bars, left: float, each: float, top: float) -> Iterator[str]:
    wide, foot = each * 0.4, _y(0.0, top)
    hint = f"{one.query}: {one.executors:.2f} by executors, {one.processes:.2f} by processes"
    yield f"  <g><title>{escape(hint)}, marked {one.own:.2f}</title>"
    for kind, ratio, shift in (
        ("executors", one.executors, 0.1),
        ("processes", one.processes, 0.5),
    ):
        at = _y(ratio, top)
        yield (
            f'    <rect class="{kind}" x="{left + shift * each:.1f}" y="{at:.1f}" '
            f'width="{wide:.1f}" height="{foot - at:.1f}"/>'
        )
    mark = _y(one.own, top)
    yield f'    <path class="own" d="M{left + 0.06 * each:.1f} {mark:.1f} h{0.88 * each:.1f}"/>'
    if each >= _LEAST_FOR_A_LABEL:
        yield (
            f'    <text class="ink" x="{left + each / 2:.1f}" y="{foot + 18:.1f}" '
            f'text-anchor="middle">{escape(one.query)}</text>'
        )
    yield "  </g>"
