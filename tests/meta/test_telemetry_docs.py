"""docs/guides/telemetry.md and the dashboard name what the code sends, and nothing else."""

from __future__ import annotations

import json
import re
from dataclasses import fields

from forerun.include.telemetry.events import EVENTS, Event
from forerun.include.telemetry.metrics import METRICS
from tests.meta.sources import ROOT

PAGE = (ROOT / "docs" / "guides" / "telemetry.md").read_text(encoding="utf-8")
DASHBOARD = json.loads(
    (ROOT / "docs" / "guides" / "grafana-dashboard.json").read_text(encoding="utf-8")
)


def _rows(head: str) -> list[list[str]]:
    """The cells of the rows of the table whose head begins so."""
    table = PAGE[PAGE.index(head) :].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in table]


def test_the_table_of_metrics_is_that_of_the_code():
    documented = {
        (name.strip("`"), kind, tuple(re.findall(r"`(\w+)`", tags)), says)
        for name, kind, tags, says in (
            (row if len(row) == 4 else [*row[:2], "", row[-1].lstrip("| ")])
            for row in _rows("| metric |")
        )
    }
    assert documented == {(m.name, m.kind, m.tags, m.says) for m in METRICS}


def test_the_table_of_events_is_that_of_the_code():
    own = {field.name for field in fields(Event)}
    documented = {row[0].strip("`"): re.findall(r"`(\w+)`", row[-1]) for row in _rows("| event |")}
    assert documented == {
        event.name: [f.name for f in fields(event) if f.name not in own] for event in EVENTS
    }


def test_the_example_has_the_fields_of_its_event():
    example = json.loads(re.search(r"```json\n(.*)\n```", PAGE)[1])
    name = example.pop("event")
    (event,) = (event for event in EVENTS if event.name == name)
    assert set(example) == {field.name for field in fields(event)}


def test_the_dashboard_asks_for_metrics_that_there_are():
    ends = {"timer": ("_sum", "_count")}
    known = {m.prometheus + end for m in METRICS for end in ends.get(m.kind, ("",))}
    panels = DASHBOARD["panels"]
    texts = [target["expr"] for panel in panels for target in panel["targets"]]
    asked = {name for text in texts for name in re.findall(r"airflow_\w+", text)}
    assert asked <= known
    # And leaves none out: a metric that nobody looks at should not be sent.
    assert {m.name for m in METRICS if not any(m.prometheus in name for name in asked)} == set()
    assert all(text.count("(") == text.count(")") for text in texts)
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert set(re.findall(r"airflow_\w+", json.dumps(DASHBOARD["templating"]))) <= known
