"""Events of OpenLineage, in the classes of its client. Imported only where there is the client."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from typing import Any

import attr
from openlineage.client import event_v2
from openlineage.client.facet_v2 import (
    RunFacet,
    column_lineage_dataset,
    dataset_version_dataset,
    error_message_run,
    schema_dataset,
)
from openlineage.client.facet_v2 import output_statistics_output_dataset as output_statistics

from forerun.include.days.handle import Day
from forerun.include.state.pointers import Pointer
from forerun.include.telemetry.events import Planned, RunEnded
from forerun.include.telemetry.lineage import DataPlace, ReportLineage, result_place
from forerun.planner.props.lineage import Origin
from forerun.planner.version import VERSION

PRODUCER = f"urn:forerun:{VERSION}"
"""The standard wants a URI."""
_IDS = uuid.UUID("6a0f7a0e-2a86-4f3f-9e1c-1b6f0f3f9d10")
"""Names made of this namespace are run ids: whoever tells of a run finds the same id."""

_ENDS = {
    "committed": event_v2.RunState.COMPLETE,
    "given-up": event_v2.RunState.ABORT,
    "failed": event_v2.RunState.FAIL,
}


@attr.define(kw_only=True)
class ForerunPlanRunFacet(RunFacet):
    """The decision of a plan, as the log has it
    (:class:`forerun.include.telemetry.events.Planned`)."""

    plan: dict[str, object]


def planned(
    day: Day, told: Planned, lineage: ReportLineage, *, namespace: str, now: datetime
) -> event_v2.RunEvent:
    """A run begins: what it reads, and for one that makes a result, what that is made of."""
    places = {name: place for name, (place, _) in lineage.sources.items()}
    inputs = [
        event_v2.InputDataset(place.namespace, place.name, facets={"schema": _schema(columns)})
        for place, columns in lineage.sources.values()
    ]
    outputs = []
    if told.part == "final" or told.run in day.spec.policy.early_results:
        facets = {
            "schema": _schema((column.name, column.type) for column in lineage.columns),
            "columnLineage": _column_lineage(lineage, places),
        }
        outputs.append(_output(result_place(day), facets))
    facet = ForerunPlanRunFacet(plan=asdict(told))
    return _event(
        event_v2.RunState.START,
        now,
        event_v2.Run(_run_id(day, f"run-{told.run}"), facets={"forerun_plan": facet}),
        event_v2.Job(namespace, f"forerun.{told.report}"),
        inputs=inputs,
        outputs=outputs,
    )


def ended(day: Day, told: RunEnded, *, namespace: str, now: datetime) -> event_v2.RunEvent:
    """A run is over; what it has written of a result is counted."""
    commit = day.commit(told.run) if told.outcome == "committed" else None
    outputs = []
    if commit is not None and commit.result is not None:
        found = commit.result
        counted = output_statistics.OutputStatisticsOutputDatasetFacet(
            found.rows, found.bytes, len(found.files)
        )
        outputs.append(_output(result_place(day), {}, counted))
    return _event(
        _ENDS[told.outcome],
        now,
        event_v2.Run(_run_id(day, f"run-{told.run}")),
        event_v2.Job(namespace, f"forerun.{told.report}"),
        outputs=outputs,
    )


def publishing(
    day: Day,
    run: int,
    *,
    namespace: str,
    now: datetime,
    pointer: Pointer | None = None,
    error: str = "",
) -> event_v2.RunEvent:
    """Publishing begins, ends with a ``pointer``, or fails with an ``error``."""
    place, outputs, facets = result_place(day), [], dict[str, Any]()
    state = event_v2.RunState.START
    if pointer is not None:
        state = event_v2.RunState.COMPLETE
        size = sum(file.size for file in pointer.files)
        counted = output_statistics.OutputStatisticsOutputDatasetFacet(
            pointer.rows, size, len(pointer.files)
        )
        version = dataset_version_dataset.DatasetVersionDatasetFacet(pointer.version)
        outputs.append(_output(place, {"version": version}, counted))
    elif error:
        state = event_v2.RunState.FAIL
        facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(error, "python")
    return _event(
        state,
        now,
        event_v2.Run(_run_id(day, f"publish-{run}"), facets=facets),
        event_v2.Job(namespace, f"forerun.{day.at.report}.publish"),
        # What is copied and what readers find is one dataset: the pointer decides.
        outputs=outputs or [_output(place, {})],
    )


def _event(
    state: event_v2.RunState,
    now: datetime,
    run: event_v2.Run,
    job: event_v2.Job,
    *,
    inputs: Iterable[event_v2.InputDataset] = (),
    outputs: Iterable[event_v2.OutputDataset] = (),
) -> event_v2.RunEvent:
    return event_v2.RunEvent(
        eventType=state,
        eventTime=now.isoformat(),
        producer=PRODUCER,
        run=run,
        job=job,
        inputs=list(inputs),
        outputs=list(outputs),
    )


def _run_id(day: Day, what: str) -> str:
    return str(uuid.uuid5(_IDS, f"{day.store.root}/{day.at.folder}/{what}"))


def _output(
    place: DataPlace, facets: dict[str, object], counted: Any = None
) -> event_v2.OutputDataset:
    output: dict[str, Any] = {} if counted is None else {"outputStatistics": counted}
    return event_v2.OutputDataset(place.namespace, place.name, outputFacets=output, facets=facets)


def _schema(columns: Iterable[tuple[str, str]]) -> schema_dataset.SchemaDatasetFacet:
    fields = [schema_dataset.SchemaDatasetFacetFields(name, kind) for name, kind in columns]
    return schema_dataset.SchemaDatasetFacet(fields=fields)


def _column_lineage(lineage: ReportLineage, places: dict[str, DataPlace]) -> Any:
    fields = {
        column.name: column_lineage_dataset.Fields(_inputs(column.origins, places))
        for column in lineage.columns
    }
    return column_lineage_dataset.ColumnLineageDatasetFacet(
        fields=fields, dataset=_inputs(lineage.rows, places)
    )


def _inputs(
    origins: Iterable[Origin], places: dict[str, DataPlace]
) -> list[column_lineage_dataset.InputField]:
    """The origins by column: one that has several influences names them all."""
    found: dict[tuple[str, str], list[column_lineage_dataset.Transformation]] = {}
    for origin in origins:
        how = "DIRECT" if origin.influence.is_direct else "INDIRECT"
        one = column_lineage_dataset.Transformation(how, origin.influence.name)
        found.setdefault((origin.source, origin.column), []).append(one)
    return [
        column_lineage_dataset.InputField(
            places[source].namespace, places[source].name, column, transformations=by
        )
        for (source, column), by in found.items()
    ]
