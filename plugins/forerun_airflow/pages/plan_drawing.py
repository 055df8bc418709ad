"""Draws the graph of a plan: a column per run, a lane per source, kept table and the result."""

from __future__ import annotations

from forerun.airflow.pages.drawing import Drawing
from forerun.airflow.pages.figures import clock, cpu, rows, short
from forerun.include.oncall.day.plan_graph import GraphNode, GraphRow, PlanGraph
from forerun.include.oncall.day.records import DayRecords

ZOOMS = ("fit", "50", "75", "100", "150", "200")
"""How large the graph may be shown: as wide as the page, or so many percent."""

_WIDTH, _LABEL, _TOP, _LANE, _NODE, _HIGH, _PAD = 1190.0, 200.0, 54.0, 66.0, 160.0, 40.0, 22.0
_LEVEL = (196.0, 280.0)
"""How far apart the nodes of a run are, from left to right: at least and at most."""


def plan_drawing(graph: PlanGraph, records: DayRecords) -> Drawing:
    """The graph on a sheet as wide as it needs; every stage is a link to what is said of it."""
    levels = {run: _levels(graph, run) for run in graph.runs}
    room = (_WIDTH - _LABEL - _PAD * len(levels)) / max(1, sum(levels.values()))
    level = min(max(room, _LEVEL[0]), _LEVEL[1])
    widths = {run: count * level + _PAD for run, count in levels.items()}
    places: dict[int, float] = {}
    x = _LABEL
    for run, width in widths.items():
        places[run] = x
        x += width
    sheet = Drawing("What each run reads and computes", x + 10)
    tops = {lane.id: _TOP + number * _LANE for number, lane in enumerate(graph.lanes)}
    sheet.height = _TOP + len(graph.lanes) * _LANE + 10
    _columns(sheet, graph, records, places, widths)
    for lane in graph.lanes:
        _label(sheet, lane, tops[lane.id], x)
    at = {
        node.id: (places[node.run] + _PAD + node.level * level, tops[node.lane] + 10)
        for node in graph.nodes
    }
    for source, target in graph.edges:
        _arrow(sheet, at[source], at[target])
    kinds = {lane.id: lane.kind for lane in graph.lanes}
    done = {commit.run for commit in records.chain}
    for node in graph.nodes:
        _node(sheet, node, at[node.id], kinds[node.lane], node.run in done)
    return sheet


def _levels(graph: PlanGraph, run: int) -> int:
    return 1 + max(node.level for node in graph.nodes if node.run == run)


def _columns(
    sheet: Drawing,
    graph: PlanGraph,
    records: DayRecords,
    places: dict[int, float],
    widths: dict[int, float],
) -> None:
    for number, run in enumerate(graph.runs):
        x, width = places[run], widths[run]
        sheet.rect("column odd" if number % 2 else "column", x, 4, width, sheet.height - 8)
        final = run == records.spec.runs
        at = clock(records.points[run - 1], records.date, records.spec.zone)
        name = "final run" if final else f"run {run}"
        sheet.text("label", x + _PAD, 24, f"{name} · {at}")
        sheet.text("soft", x + _PAD, 40, f"price ×{records.weights[run - 1]:g}")


def _label(sheet: Drawing, lane: GraphRow, top: float, width: float) -> None:
    sheet.line("floor", 0, top, width, top)
    sheet.text("label", 8, top + 26, short(lane.title, 26), says=lane.title)
    kinds = {"source": "source", "kept": "kept between runs"}
    sheet.text("soft", 8, top + 42, kinds.get(lane.kind, "published"))


def _arrow(sheet: Drawing, source: tuple[float, float], target: tuple[float, float]) -> None:
    x1, y1 = source[0] + _NODE, source[1] + _HIGH / 2
    x2, y2 = target[0] - 4, target[1] + _HIGH / 2
    if abs(y1 - y2) < 1 and x2 - x1 < _LEVEL[1]:
        sheet.path("arrow", f"M{x1:.1f} {y1:.1f} H{x2:.1f}")
        return
    bend = max(24.0, min(60.0, (x2 - x1) / 2))
    d = f"M{x1:.1f} {y1:.1f} C{x1 + bend:.1f} {y1:.1f} {x2 - bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
    sheet.path("arrow", d)


def _node(sheet: Drawing, node: GraphNode, at: tuple[float, float], kind: str, done: bool) -> None:
    x, y = at
    look = f"node {kind}{' done' if done else ''}"
    if node.stage is None:
        sheet.rect(f"{look} read", x, y + 7, _NODE, _HIGH - 14, says=node.title)
        sheet.text("figure", x + _NODE / 2, y + 24, node.title, "middle")
        return
    stage, measured = node.stage, node.stage.metrics
    count = measured.rows if measured else stage.estimated_rows
    took = measured.executor_cpu_s if measured else stage.estimated_s
    said = f"{stage.title}: {count:,} rows, {cpu(took)} CPU seconds"
    said += "" if measured else " by estimate"
    sheet.rect(look, x, y, _NODE, _HIGH, says=said, href=f"#{node.id}")
    sheet.text("figure strong", x + 8, y + 17, short(stage.title, 23))
    about = "" if measured else "≈ "
    sheet.text("soft", x + 8, y + 32, f"{about}{rows(count)} rows · {about}{cpu(took)} s")
