"""Plans of TPC-H at scale 10 over data that is a thousand times smaller.

``scale_10.json`` has what the footers of the tables say at scale 10: rows and bytes, and of each
column the least and the greatest value, the part that is NULL, the values of its dictionaries and
the bytes of one. A source that says so is planned like the large one, and its data take no time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest import mock

from forerun.include.reports.spec import SourceSpec
from forerun.include.runs import day_request, prepare
from forerun.include.sources.statistics import to_source
from forerun.include.state.records import Pin
from forerun.planner.request import ColumnStats, Source

SMALLER = 1000
"""Sizes of the data here are those of scale 10 divided by this."""

_SAID = json.loads(Path(__file__).with_name("scale_10.json").read_text())


@contextmanager
def as_at_scale_10() -> Iterator[None]:
    """Runs are planned as if there were all rows of scale 10. What runs kept is believed to be as
    large as was estimated, for it is as small as the data."""
    with (
        mock.patch.object(day_request, "to_source", _pretended),
        mock.patch.object(prepare, "observed", return_value=()),
    ):
        yield


def at_scale_10(source: Source) -> Source:
    """A table of TPC-H as the planner sees it at scale 10."""
    said = _SAID[source.name]
    columns = tuple(
        (name, ColumnStats(minimum=least, maximum=most, nulls=nulls, distinct=values, width=width))
        for name, (least, most, nulls, values, width) in said["columns"].items()
    )
    return replace(source, rows=said["rows"], bytes=said["bytes"], stats=columns)


def _pretended(source: SourceSpec, pin: Pin, arrived: float) -> Source:
    return at_scale_10(to_source(source, pin, arrived))
