"""``forerun plan``: what runs early, what is kept, and what it should cost."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from forerun import console
from forerun.cli.options import CheckedDay, takes_day
from forerun.planner.errors import ForerunError, RequestError
from forerun.planner.request import Method, PlanRequest

if TYPE_CHECKING:
    from forerun.planner.result import PlanResult

CANNOT = 2


class Format(StrEnum):
    tree = "tree"
    sql = "sql"
    json = "json"


@takes_day()
def plan_command(
    day: CheckedDay,
    method: Annotated[
        Method,
        typer.Option(
            "--method",
            help="All incremental methods by cost, one of them alone, or one run at the end.",
        ),
    ] = "auto",
    output: Annotated[Format, typer.Option("--format", help="How to show it.")] = Format.tree,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    show_memo: Annotated[
        bool, typer.Option("--memo", help="Show the memo: groups, time-varying relations, rules.")
    ] = False,
    show_steps: Annotated[
        bool, typer.Option("--steps", help="Show how the plan was found, rule by rule.")
    ] = False,
    why_not: Annotated[
        bool,
        typer.Option("--why-not", help="Show what was not chosen, and by how much it is dearer."),
    ] = False,
    larger: Annotated[
        str,
        typer.Option(
            "--as-if",
            metavar="FACTOR",
            help="Plan as if there were so many times the rows, such as 1000x. Statistics are "
            "scaled, nothing is read.",
        ),
    ] = "1x",
) -> int:
    """Plan the runs of a day and show what runs early, what is kept, and what it should cost.

    Several reports are planned as a group: one application at each time point, for all of them.
    """
    from forerun.cli.chosen import with_chosen_times
    from forerun.planner import api
    from forerun.simulation.scaled import as_if, parse_factor

    day = with_chosen_times(day)
    factor = parse_factor(larger)
    requests = tuple(as_if(request, factor) for request in day.requests(method))
    if factor != 1.0 and not (as_json or output is not Format.tree):
        console.say(f"As if there were {factor:g} times the rows: scaled, not measured.\n")
    if day.is_group:
        if output is Format.sql or show_memo or show_steps or why_not:
            raise RequestError(
                "a group is shown as a tree or as JSON",
                hint="For more of one of its reports, plan it alone.",
            )
        return _plan_group(requests, as_json=as_json or output is Format.json)
    found = api.plan(requests[0])
    if as_json or output is Format.json:
        from forerun.planner.explain import record

        console.say_json(record.as_json(found, api.plans_by_method(found)))
    else:
        console.say(_shown(found, output, memo=show_memo, steps=show_steps, why_not=why_not))
    return 0


def _shown(found: PlanResult, output: Format, *, memo: bool, steps: bool, why_not: bool) -> str:
    """Return a plan as a person asked for it."""
    from forerun.planner import api
    from forerun.planner.explain import memo as memo_text
    from forerun.planner.explain import methods, sql, tree
    from forerun.planner.explain import steps as steps_text

    if why_not:
        return methods.why_not(found, api.plans_by_method(found))
    if steps:
        return steps_text.render(found)
    if memo:
        return memo_text.render(found)
    if output is Format.sql:
        return sql.render(found.plan)
    return tree.render(found, api.plans_by_method(found))


def _plan_group(requests: tuple[PlanRequest, ...], *, as_json: bool) -> int:
    """Plan several reports together and show it; a report that cannot be planned is said, and
    decides about the exit code."""
    from forerun.planner.explain import group
    from forerun.planner.report_group import plan_group, whole_days

    members = whole_days(requests)
    together = plan_group(members)
    if as_json:
        console.say_json(group.as_json(members, together))
    else:
        console.say(group.render(members, together))
    wrong = [one for one in together.results if isinstance(one, ForerunError)]
    for error in wrong:
        console.fail(error, as_json=False)
    return CANNOT if wrong else 0
