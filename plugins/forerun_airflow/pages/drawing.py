"""A drawing as a list of shapes. The template writes them as SVG and escapes every text, so nothing
that the data holds becomes markup; how they look is for the style sheet to say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from markupsafe import Markup, escape


@dataclass(frozen=True, slots=True)
class Shape:
    """One element. ``says`` is its tooltip and what a screen reader reads, ``href`` makes it a
    link; ``text`` is what a ``text`` shows."""

    tag: Literal["rect", "line", "path", "circle", "text", "polyline"]
    look: str
    at: tuple[tuple[str, str | float], ...]
    text: str = ""
    says: str = ""
    href: str = ""

    @property
    def attributes(self) -> Markup:
        """Return all attributes as markup, numbers to a tenth of a pixel."""
        shown = " ".join(f'{k}="{_written(value)}"' for k, value in self.at)
        return Markup(f'class="{escape(self.look)}" {shown}')


def _written(value: str | float) -> str:
    return f"{value:.1f}" if isinstance(value, float) else escape(value)


@dataclass(slots=True)
class Drawing:
    """Shapes on a sheet; ``title`` says in a sentence what there is to see."""

    title: str
    width: float
    height: float = 0.0
    shapes: list[Shape] = field(default_factory=list)

    def rect(self, look: str, x: float, y: float, width: float, height: float, **more: str) -> None:
        at = (("x", x), ("y", y), ("width", max(width, 1.0)), ("height", height), ("rx", "2"))
        self.shapes.append(Shape("rect", look, at, **more))

    def line(self, look: str, x: float, y: float, x2: float, y2: float, **more: str) -> None:
        at = (("x1", x), ("y1", y), ("x2", x2), ("y2", y2))
        self.shapes.append(Shape("line", look, at, **more))

    def dot(self, look: str, x: float, y: float, radius: float, **more: str) -> None:
        self.shapes.append(Shape("circle", look, (("cx", x), ("cy", y), ("r", radius)), **more))

    def polyline(self, look: str, points: list[tuple[float, float]], **more: str) -> None:
        said = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.shapes.append(Shape("polyline", look, (("points", said),), **more))

    def path(self, look: str, d: str, **more: str) -> None:
        self.shapes.append(Shape("path", look, (("d", d),), **more))

    def text(
        self, look: str, x: float, y: float, text: str, anchor: str = "start", **more: str
    ) -> None:
        at = (("x", x), ("y", y), ("text-anchor", anchor))
        self.shapes.append(Shape("text", look, at, text=text, **more))
