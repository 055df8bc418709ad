"""Metrics of reports, all in one table: their names, what they are and what they are tagged with.

Few series: a report, whether a run is early or final, and a word of a short list. Never a day, a
version or a sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from forerun.include.telemetry.events import Compared, Event, Planned, Published, RunEnded, Skipped

Kind = Literal["counter", "gauge", "timer"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: a sum that only grows (``counter``), the newest value (``gauge``) or times of which
    there are many (``timer``). ``tags`` are what it has beside ``report``."""

    name: str
    kind: Kind
    tags: tuple[str, ...]
    says: str

    @property
    def prometheus(self) -> str:
        """Its name in Prometheus behind a StatsD exporter, with Airflow's own prefix. A timer is a
        summary in seconds there: ``_sum`` and ``_count`` follow."""
        return f"airflow_{self.name.replace('.', '_')}"


METRICS = (
    Metric("forerun.plan.made", "counter", ("part", "decided"), "plans"),
    Metric(
        "forerun.plan.share",
        "gauge",
        ("part",),
        "what the rest of the day costs by the newest plan, as a share of batch, by estimate",
    ),
    Metric("forerun.run.ended", "counter", ("part", "outcome"), "runs that ended"),
    Metric(
        "forerun.run.skipped",
        "counter",
        (),
        "early runs that were left out, before planning or because the plan has nothing to do",
    ),
    Metric("forerun.run.wall", "timer", ("part",), "how long an application was at a run"),
    Metric("forerun.run.cpu", "timer", ("part",), "CPU time of a run, the whole process"),
    Metric("forerun.run.rows", "counter", ("part",), "rows of sources that runs read"),
    Metric("forerun.run.kept_bytes", "counter", (), "bytes that runs keep for later ones"),
    Metric("forerun.publish.made", "counter", ("part", "complete"), "results that were published"),
    Metric(
        "forerun.publish.margin",
        "gauge",
        (),
        "seconds from the newest publication to its deadline, negative after it",
    ),
    Metric(
        "forerun.publish.state_age",
        "gauge",
        (),
        "seconds that the oldest kept table of the newest published day had been kept",
    ),
    Metric(
        "forerun.day.cost",
        "gauge",
        (),
        "CPU seconds times their price that the newest published day took",
    ),
    Metric(
        "forerun.day.batch_cost",
        "gauge",
        (),
        "the same, had that day been batch: measured where batch ran, else worked out",
    ),
)

_BY_NAME = {metric.name: metric for metric in METRICS}


@dataclass(frozen=True, slots=True)
class MetricSample:
    """A value of a metric; a timer's is in seconds. ``tags`` has the report, too."""

    metric: Metric
    value: float
    tags: tuple[tuple[str, str], ...]


def samples(event: Event) -> Iterator[MetricSample]:
    """The samples that an event gives."""
    match event:
        case Planned():
            yield _sample(event, "forerun.plan.made", 1, part=event.part, decided=event.decided)
            if event.batch_cpu_s:
                share = event.planned_cpu_s / event.batch_cpu_s
                yield _sample(event, "forerun.plan.share", share, part=event.part)
            if not event.submit and event.part == "early":
                yield _sample(event, "forerun.run.skipped", 1)
        case Skipped():
            yield _sample(event, "forerun.run.skipped", 1)
        case RunEnded():
            yield from _of_run(event)
        case Published():
            yield from _of_publication(event)
        case Compared():
            pass  # a few weeks of a report's life need no series
        case _:
            raise TypeError(f"no metrics are known of the event {event.name}")


def _of_run(event: RunEnded) -> Iterator[MetricSample]:
    part = event.part
    yield _sample(event, "forerun.run.ended", 1, part=part, outcome=event.outcome)
    if event.outcome != "failed":
        yield _sample(event, "forerun.run.wall", event.wall_s, part=part)
        yield _sample(event, "forerun.run.cpu", event.cpu_s, part=part)
        yield _sample(event, "forerun.run.rows", event.rows, part=part)
        yield _sample(event, "forerun.run.kept_bytes", event.kept_bytes)


def _of_publication(event: Published) -> Iterator[MetricSample]:
    complete = "no" if event.incomplete else "yes"
    yield _sample(event, "forerun.publish.made", 1, part=event.part, complete=complete)
    for name, value in (
        ("forerun.publish.margin", event.margin_s),
        ("forerun.publish.state_age", event.state_age_s),
        ("forerun.day.cost", event.measured_cpu_s),
        ("forerun.day.batch_cost", event.batch_cpu_s),
    ):
        if value is not None:
            yield _sample(event, name, value)


def _sample(event: Event, name: str, value: float, **tags: str) -> MetricSample:
    metric = _BY_NAME[name]
    if tuple(tags) != metric.tags:
        raise ValueError(f"{name} is tagged with {metric.tags}, not with {tuple(tags)}")
    return MetricSample(metric, value, (("report", event.report), *tags.items()))
