"""``forerun schedule show``, ``stop`` and ``resume``: the cluster of a store as it is now."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from forerun import console
from forerun.include.machine.wall_clock import utc_now
from forerun.include.reports.values.clock import parse_day
from forerun.include.state.cluster_report import ClusterReport
from forerun.include.state.expire import store_clock
from forerun.include.state.slots import Look, SlotRequest, Stop, shown, why_not
from forerun.include.stores.opening import open_store
from forerun.include.times.cluster_reports import reports_of
from forerun.include.times.leases import Leases, read_cluster, say_stop
from forerun.night.stored import cluster_name

ClusterName = Annotated[
    str, typer.Argument(metavar="CLUSTER", help="Its name; it may be left out if there is one.")
]
StoreUri = Annotated[
    str, typer.Option("--store", metavar="URI", help="The store: a folder, file:// or s3://.")
]
By = Annotated[
    str, typer.Option("--by", metavar="NAME", help="Who says so; else the user of this machine.")
]
AsJson = Annotated[bool, typer.Option("--json", help="The same as JSON.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands to those of ``forerun schedule``."""
    at = "--store s3://lake/state"
    for name, command in (("show", show_command), ("stop", stop_command), ("resume", resume)):
        why = ' --why "the disk is full"' if name == "stop" else ""
        examples = f"**Examples**\n\n`forerun schedule {name} {at}{why}`\n\n"
        examples += f"`forerun schedule {name} night {at}{why}`"
        app.command(name, epilog=examples)(command)


def show_command(store: StoreUri, cluster: ClusterName = "", as_json: AsJson = False) -> int:
    """Show the cores of a cluster: who holds some, who waits and why, which reports name it, and
    whether it is stopped."""
    opened = open_store(store)
    leases = Leases(opened, read_cluster(opened, cluster_name(opened, cluster)))
    look = leases.overview(store_clock(opened))
    waiting = sorted(look.waiting, key=lambda one: one.laxity(look.now))
    today = parse_day(look.cluster.day_at(look.now))
    reports = reports_of(opened, look.cluster.name, today)
    if as_json:
        console.say_json(_record(look, waiting) | {"reports": _reports(reports, look.now)})
        return 0
    console.output().print(_table(look, waiting))
    if reports:
        console.output().print(_reports_table(reports, look.now))
    return 0


def stop_command(
    store: StoreUri,
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason, for all logs.")],
    cluster: ClusterName = "",
    by: By = "",
) -> int:
    """Let no run of a cluster begin, but final runs at their latest safe start. What runs goes on.

    The log of each task that waits says who has stopped the cluster and why.
    """
    _say(store, cluster, by, why, stopped=True)
    return 0


def resume(store: StoreUri, cluster: ClusterName = "", by: By = "") -> int:
    """Let the runs of a cluster that was stopped begin again."""
    _say(store, cluster, by, "", stopped=False)
    return 0


def _say(store: str, cluster: str, by: str, why: str, *, stopped: bool) -> None:
    opened = open_store(store)
    name = read_cluster(opened, cluster_name(opened, cluster)).name
    at = utc_now().isoformat(timespec="seconds")
    say_stop(opened, name, Stop(stopped=stopped, by=by or getpass.getuser(), at=at, why=why))
    console.say(f"cluster {name} {'is stopped' if stopped else 'goes on'}")


def _record(look: Look, waiting: list[SlotRequest]) -> dict[str, object]:
    stop = look.stop if look.stop and look.stop.stopped else None
    return {
        "cluster": look.cluster.name,
        "at": shown(look.now),
        "ceiling": look.cluster.ceiling_at(look.now),
        "busy": look.slots.busy(look.now),
        "budgets": [
            {"owner": owner, "used": used, "budget": budget}
            for owner, used, budget in _budgets(look)
        ],
        "stopped": {"by": stop.by, "at": stop.at, "why": stop.why} if stop else None,
        "held": [
            {"run": one.name, "cores": one.cores, "until": shown(one.until)}
            for one in look.slots.live(look.now)
        ],
        "waiting": [
            {
                "run": one.name,
                "owner": one.owner,
                "cores": one.cores,
                "latest_start": shown(one.latest_start) if one.latest_start is not None else None,
                "why": why_not(one, look) or "its turn has come",
            }
            for one in waiting
        ],
    }


def _reports(reports: Sequence[ClusterReport], now: float) -> list[dict[str, object]]:
    """The reports that name the cluster, with the run that each plans next."""
    found: list[dict[str, object]] = []
    for one in reports:
        runs = (run.at for day in one.days for run in day.runs if run.at >= now)
        following = min(runs, default=None)
        found.append(
            {
                "report": one.report,
                "owner": one.owner,
                "cores": one.cores,
                "newest_day": one.newest,
                "next_run": shown(following) if following is not None else None,
            }
        )
    return found


def _reports_table(reports: Sequence[ClusterReport], now: float) -> Table:
    table = Table(title="reports that name it")
    for head in ("report", "owner", "cores", "newest day", "next run"):
        table.add_column(head, justify="right" if head == "cores" else "left")
    for one in _reports(reports, now):
        table.add_row(*(Text(str(value) if value is not None else "") for value in one.values()))
    return table


def _budgets(look: Look) -> list[tuple[str, float, float]]:
    """Return for each owner what early runs have used today, and its budget."""
    day = look.cluster.day_at(look.now)
    return [
        (owner, look.slots.used(owner, day, look.now), budget)
        for owner, budget in look.cluster.budgets
    ]


def _table(look: Look, waiting: list[SlotRequest]) -> Table:
    stop = look.stop if look.stop and look.stop.stopped else None
    said = [f"stopped by {stop.by} at {stop.at}: {stop.why}"] if stop else []
    said += [
        f"early runs of {owner} today: {used:.2f} of {budget:g} core hours times price"
        for owner, used, budget in _budgets(look)
    ]
    table = Table(
        title=f"cluster {look.cluster.name}: {look.slots.busy(look.now)} of "
        f"{look.cluster.ceiling_at(look.now):g} cores are held, {shown(look.now)}",
        caption=Text("\n".join(said)) if said else None,
    )
    for head in ("run", "cores", "latest start", "now"):
        table.add_column(head, justify="right" if head == "cores" else "left")
    for held in look.slots.live(look.now):
        table.add_row(held.name, str(held.cores), "", f"holds them until {shown(held.until)}")
    for one in waiting:
        latest = shown(one.latest_start) if one.latest_start is not None else "any time"
        why = why_not(one, look) or "its turn has come"
        table.add_row(one.name, str(one.cores), latest, Text(f"waits: {why}"))
    return table
