"""Requests that have no meaning, and what to do about each; and what a request leaves no choice
about."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from forerun.planner.contract.plan_v1 import SIDE
from forerun.planner.errors import RequestError
from forerun.planner.materialize.objective import OBJECTIVES
from forerun.planner.request import ANSI, PlanRequest, Source
from forerun.planner.rules.methods.catalog import check_rules

WITHOUT_ANSI = "its session is without ANSI mode, and only the report's own text is read so"
"""Why a report is batch whose session is not in ANSI mode: types, overflows and failed casts are
other ones there, and no rewriting was proven for them."""


def check(request: PlanRequest) -> None:
    """Refuse a request that has no meaning."""
    check_rules(request.settings.rules_off)
    _check_parameters(request)
    _check_sources(request)
    if not request.points:
        raise RequestError("the day has no runs", hint="Give at least one time point.")
    for index, point in enumerate(request.points, 1):
        if not 0 < point.weight < math.inf:
            raise RequestError(
                f"the weight of run {index} is {point.weight:g}",
                hint="Weights are prices of compute: positive numbers.",
            )
        if not 0 <= point.arrived <= 1:
            raise RequestError(
                f"run {index} has {point.arrived:g} of the data",
                hint="Give fractions between 0 and 1, such as 0.58,0.79,1.",
            )
    for earlier, later in zip(request.points, request.points[1:], strict=False):
        if later.arrived < earlier.arrived:
            raise RequestError(
                f"less data has arrived later ({later.arrived:g} after {earlier.arrived:g})",
                hint="Give the arrived fractions in the order of the runs.",
            )
    if (request.settings.state_budget or 0) < 0:
        raise RequestError(
            f"the state budget is {request.settings.state_budget} bytes",
            hint="Give how much may be kept between runs: 0 bytes or more.",
        )
    if not 1 <= request.current <= len(request.points):
        raise RequestError(
            f"there is no run {request.current} in a day of {len(request.points)} runs",
            hint="Runs are counted from 1.",
        )
    _check_problem(request)
    if any(run.index >= request.current for run in request.committed):
        raise RequestError(
            f"run {request.current} is planned, but run {request.committed[-1].index} is committed",
            hint="A run after this one is already there: go on from it, or clear the day.",
        )


def settled(request: PlanRequest, only_text: tuple[str, ...]) -> PlanRequest:
    """Return the request with the method that it leaves: batch by the user's own text without a
    session in ANSI mode, or where ``only_text`` says why no other text means the same; batch
    without state; or because something else than the cost has decided so. ``batch_because`` says
    why, where that was not asked for by name."""
    ansi = dict(request.settings.session).get(ANSI) == "true"
    if only_text or not ansi:
        said = "; ".join(only_text) if ansi else WITHOUT_ANSI
        because = "" if request.method == "batch" else said
        settings = replace(request.settings, own_batch="never")
        return replace(request, method="batch", batch_because=because, settings=settings)
    if request.settings.state_budget == 0 and not request.committed and request.method != "auto":
        request = replace(request, method="batch")  # nothing can be kept, so there is only batch
    if request.method != "auto":
        return replace(request, batch_because="")
    return replace(request, method="batch") if request.batch_because else request


def _check_problem(request: PlanRequest) -> None:
    """Refuse results at runs that the day does not have, and objectives that are in no table."""
    runs = range(1, len(request.points) + 1)
    if unknown := [run for run in request.problem.results_at if run not in runs]:
        raise RequestError(
            f"a result is wanted at run {unknown[0]} of a day of {len(runs)} runs",
            hint="Runs are counted from 1; the last one always gives the result.",
        )
    if request.problem.objective not in OBJECTIVES:
        raise RequestError(
            f"there is no objective {request.problem.objective!r}",
            hint=f"Plans are compared by one of: {', '.join(sorted(OBJECTIVES))}.",
        )


def _check_parameters(request: PlanRequest) -> None:
    names = [parameter.name for parameter in request.parameters]
    if twice := [name for name in names if names.count(name) > 1]:
        raise RequestError(
            f"the parameter {twice[0]} is given twice", hint="Give each parameter one value."
        )


def _check_sources(request: PlanRequest) -> None:
    for source in request.sources:
        if source.name.lower().startswith(SIDE):
            raise RequestError(
                f"source {source.name} has a name that runs need for views of their own",
                hint=f"Give it a name that does not begin with {SIDE}.",
            )
        if not 0 <= source.retracted < math.inf:
            raise RequestError(
                f"{source.retracted:g} of the rows of source {source.name} are taken back",
                hint="Give the rows that a day takes back as a share of its rows: 0 or more.",
            )
        if source.ordered_by not in ("", *(column.name for column in source.columns)):
            raise RequestError(
                f"source {source.name} has no column {source.ordered_by} to come in the order of",
                hint=f"Its columns are {', '.join(column.name for column in source.columns)}.",
            )
        _check_foreign_keys(source, {one.name: one for one in request.sources})
        lengths = {len(values) for _, values in source.sample}
        if len(lengths) > 1 or (source.sample_blocks and {sum(source.sample_blocks)} != lengths):
            raise RequestError(
                f"columns or blocks of the sample of source {source.name} differ in length",
                hint="A sample is a table: give each column a value for every row, None for NULL.",
            )


def _check_foreign_keys(source: Source, sources: Mapping[str, Source]) -> None:
    """Refuse foreign keys of what is not there, or whose columns are not of one type: the data is
    asked by the same comparison that joins use."""
    for key in (one.key for one in source.foreign_keys):
        what = f"source {source.name}: the foreign key ({', '.join(key.columns)})"
        parent = sources.get(key.parent)
        if parent is None:
            raise RequestError(
                f"{what} names the source {key.parent}, which is not there",
                hint=f"The sources are {', '.join(sorted(sources))}.",
            )
        if len(key.columns) != len(key.parent_columns) or not key.columns:
            raise RequestError(
                f"{what} names {len(key.parent_columns)} columns of {key.parent}",
                hint="Give each column the one that it names, at least one.",
            )
        mine = {column.name: column.type for column in source.columns}
        theirs = {column.name: column.type for column in parent.columns}
        for one, other in zip(key.columns, key.parent_columns, strict=True):
            kinds = mine.get(one), theirs.get(other)
            if None in kinds:
                raise RequestError(
                    f"{what}: there is no column {source.name}.{one} or {key.parent}.{other}",
                    hint="Spell the columns as the sources declare them.",
                )
            if kinds[0] != kinds[1]:
                raise RequestError(
                    f"{what}: {source.name}.{one} is not of the type of {key.parent}.{other}",
                    hint="Declare both with the same type, or leave the foreign key out.",
                )
