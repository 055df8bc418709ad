"""``forerun schedule --store``: the night of the reports of a store, and what is left out."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace

import pytest

from forerun.cli.app import run
from forerun.include.days.ledger import read_history
from forerun.include.reports.cluster import Blackout, Cluster
from forerun.include.reports.run_policy import Retries
from forerun.include.reports.spec import ReportSpec
from forerun.include.reports.values.hours import Hours
from forerun.include.runs.prepare import open_generation, prepare_run
from forerun.include.sources.pins import pin_source
from forerun.include.state.layout import SPECS_FOLDER, ClusterKeys, Generation, history_key
from forerun.include.state.records import OpenedBy, RunCommit, encode
from forerun.include.state.slots import Slots, Spent, Stop
from forerun.include.times.choosing import Decision, choose_day
from forerun.include.times.cluster_reports import no_wanted, put_wanted, reports_of
from forerun.include.times.leases import declare, say_stop
from forerun.night.stored import stored_night
from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.many import plan_night
from tests.include.days.past_days import (
    MONDAY,
    NIGHT_IS_DEAR,
    PastDays,
    ago,
    also,
    at,
    past_days,
)

ALWAYS = (Hours(start="00:00", end="24:00", value=1.0),)
NIGHT = Cluster(
    name="night",
    ceiling=(Hours(start="00:00", end="24:00", value=2.0),),
    prices=NIGHT_IS_DEAR,
    blackouts=(Blackout(start="00:00", end="00:30"), Blackout(start="00:20", end="00:40")),
    timezone="Europe/Berlin",
)


def opened_by_dag(days: PastDays, spec: ReportSpec) -> None:
    by = OpenedBy(
        dag_id=spec.name, run_id="r", mode="auto", group="", retries=Retries(count=0, pauses_s=0.0)
    )
    open_generation(days.store.root, spec, MONDAY, trigger="t", now=at(0), opened_by=by)


@pytest.fixture
def past(tmp_path) -> PastDays:
    """20 rows an hour on three days; a batch took 600 s, of which 15 s are its start."""
    days = past_days(tmp_path)
    opened_by_dag(days, days.spec)
    return days


def night_of(past: PastDays, capsys, *more: str, code: int = 0) -> dict:
    given = ["schedule", "--store", past.store.root, "--day", MONDAY.isoformat(), "--json", *more]
    assert run(given) == code
    return json.loads(capsys.readouterr().out)


def hours(text: str) -> float:
    """An instant in hours after the start of the day in Berlin."""
    return (dt.datetime.fromisoformat(text) - at(0)).total_seconds() / 3600


def test_the_night_of_a_cluster_by_what_past_days_were(past, capsys):
    declare(past.store, NIGHT)
    opened_by_dag(past, replace(past.spec, name="newcomer"))
    opened_by_dag(past, replace(past.spec, name="wide", policy=replace(past.spec.policy, cores=3)))
    opened_by_dag(past, replace(past.spec, name="unpublished"))
    entry = replace(read_history(past.store, "totals")[0], report="unpublished")
    past.store.put(history_key(Generation("unpublished", entry.day, "1"), 4), encode(entry))
    record = night_of(past, capsys)
    (report,) = record["reports"]
    assert (report["name"], report["cores"]) == ("totals", 1)
    assert (hours(report["complete"]), hours(report["deadline"])) == (24, 26)
    *early, final = report["runs"]
    assert early
    assert 6 <= hours(early[0]["start"]) < 18  # where a core costs a fifth
    assert hours(final["start"]) >= 24 + 40 / 60  # after both blackouts
    assert sum(one["rows"] for one in report["runs"]) == 480
    for one in report["runs"]:
        assert one["seconds"] == pytest.approx(15 + 585 * one["rows"] / 480)
    latest = 26 - final["seconds"] / 3600
    assert hours(report["latest_start"]) == pytest.approx(latest, abs=1 / 3600)
    assert record["left_out"] == {
        "newcomer": "no run of it is in the ledger",
        "unpublished": "no past day tells when rows of orders come",
        "wide": "its runs need 3 cores, and the cluster has at most 2",
    }
    assert record["remarks"] == []


def test_the_table_the_page_and_a_change_are_those_of_a_file(past, tmp_path, capsys):
    declare(past.store, replace(NIGHT, prices=ALWAYS))
    opened_by_dag(past, replace(past.spec, name="newcomer"))
    page = tmp_path / "night.html"
    given = ["schedule", "--store", past.store.root, "--day", "2026-03-02", "--html", str(page)]
    assert run([*given, "--what-if", "late=totals:+03:00"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "late by" in said
    for text in (said, page.read_text(encoding="utf-8")):
        assert "newcomer is left out: no run of it is in the ledger" in text
        assert "not with their own: totals" in text


def test_without_a_cluster_prices_are_the_reports_and_cores_are_free(past, capsys):
    by_reports = night_of(past, capsys)
    assert by_reports["zone"] == "Europe/Berlin"
    declare(past.store, replace(NIGHT, blackouts=()))
    on_cluster = night_of(past, capsys)
    assert by_reports["paid"] == on_cluster["paid"]
    assert by_reports["reports"] == on_cluster["reports"]


def test_a_day_under_way_is_late_by_its_newest_pin(past, capsys):
    """At 17:00 there is what past days had at 15:00."""
    past.deliver(MONDAY, 0, 300)
    pin_source(past.store, past.spec.sources[0], MONDAY, at(17))
    record = night_of(past, capsys, code=1)
    assert hours(record["reports"][0]["complete"]) == pytest.approx(26, abs=0.01)
    assert record["missed"] == ["totals"]


def test_a_day_is_not_complete_before_the_final_run_s_own_time(past, capsys):
    for back in (7, 14, 21):  # three Mondays on which all rows were there at noon
        past.day(ago(back), (6, 240), (12, 480))
    record = night_of(past, capsys)
    assert hours(record["reports"][0]["complete"]) == 24


def test_runs_of_different_costs_are_fitted(past, capsys):
    found = zip((0.5, 1.5, 2.5), read_history(past.store, "totals"), strict=True)
    for part, entry in found:
        other = replace(entry, estimated_cost=round(1e8 * part), wall_s=10 + 600 * part)
        key = history_key(Generation("totals", entry.day, "1"), 4)
        past.store.put(key, encode(other))
    record = night_of(past, capsys)
    assert record["fits"]["totals"]["error"] == pytest.approx(0, abs=0.01)
    for one in record["reports"][0]["runs"]:
        assert one["seconds"] == pytest.approx(10 + 600 * one["rows"] / 480, rel=0.01)


def _two(past: PastDays) -> None:
    declare(past.store, NIGHT)
    declare(past.store, replace(NIGHT, name="day"))


def _spec_gone(past: PastDays) -> None:
    for file in past.store.list(SPECS_FOLDER):
        past.store.put(file.key, b"{")


@pytest.mark.parametrize(
    ("harm", "options", "said"),
    [
        (None, ["night.toml"], "by a file or by a store"),
        (None, ["--day", "tomorrow"], "'tomorrow' is not a date"),
        (None, ["--cluster", "night"], "has named a cluster night"),
        (_two, [], "the store has 2 clusters: day, night"),
        (None, [], "totals: it has not run since 2026-03-02"),
        (_spec_gone, ["--day", "2026-03-02"], "totals: "),
    ],
)
def test_what_cannot_be_planned_says_why(past, capsys, harm, options, said):
    if harm:
        harm(past)
    assert run(["schedule", *options, "--store", past.store.root]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_only_reports_that_name_the_cluster_are_in_its_night(past, capsys):
    """Of a store whose reports have not said so yet, all are."""
    declare(past.store, NIGHT)
    opened_by_dag(past, replace(past.spec, name="elsewhere"))
    assert "elsewhere" in night_of(past, capsys)["left_out"]
    put_wanted(past.day_of(MONDAY), "night", no_wanted(past.day_of(MONDAY)))
    record = night_of(past, capsys)
    assert [one["name"] for one in record["reports"]] == ["totals"]
    assert record["left_out"] == {}
    say_stop(past.store, "night", Stop(stopped=True, by="ann", at="noon", why="full"))
    assert "ann has stopped the cluster at noon" in night_of(past, capsys)["remarks"][-1]
    assert record["remarks"] == ["not on cluster night, or not for a week: elsewhere"]


def test_the_night_of_a_store_is_simulated(past, capsys):
    declare(past.store, replace(NIGHT, blackouts=()))
    given = ["schedule", "simulate", "--store", past.store.root, "--day", MONDAY.isoformat()]
    assert run([*given, "--json"]) == 0
    met = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in met["reports"]] == ["totals"]
    assert met["missed"] == []
    assert run([*given, "--late", "totals=+03:00", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["missed"] == ["totals"]


def test_of_a_night_that_has_begun_the_rest_is_planned(past):
    """At 17:00 one early run has read what had come by 14:00; nothing is planned before now."""
    declare(past.store, replace(NIGHT, blackouts=()))
    day = past.day_of(MONDAY)
    past.deliver(MONDAY, 0, 280)
    prepared = prepare_run(day, 1, method="progressive", now=at(14))
    commit = RunCommit(run=1, base=0, attempt="t", plan=prepared.plan_key, committed_at="")
    past.store.put(day.at.commit(1), encode(commit))
    whole = stored_night(past.store, "", MONDAY, at(40))
    rest = stored_night(past.store, "", MONDAY, at(17))
    assert whole.cluster.start == at(0).timestamp()
    assert rest.cluster.start == at(17).timestamp()
    (before,), (after,) = whole.reports, rest.reports
    assert (before.at_most, after.at_most) == (4, 3)
    assert after.arrivals.total == before.arrivals.total - 280
    assert after.cost.final_aggregation(1) == before.cost.final_aggregation(2)
    plan = plan_night(rest.reports, rest.cluster)
    assert all(one.start >= at(17).timestamp() for one in plan.plans[0].runs)
    assert not plan.missed
    past.day(MONDAY, (24, 480))  # published
    with pytest.raises(ScheduleError, match="totals: its final run of 2026-03-02 is done"):
        stored_night(past.store, "", MONDAY, at(24.5))
    assert stored_night(past.store, "", MONDAY, at(40)).reports


def test_early_runs_that_a_budget_does_not_cover_are_not_planned(past, capsys):
    """Nearly all of them are covered; then nothing is left of the day's budget."""
    team = past.spec.owner
    rich = replace(NIGHT, blackouts=(), budgets=((team, 1.0),))
    declare(past.store, rich)
    early = night_of(past, capsys)["reports"][0]["runs"][:-1]
    takes = [one["seconds"] * rich.price_at(instant_of(one)) / 3600 for one in early]
    declare(past.store, replace(rich, budgets=((team, sum(takes) - 0.001),)))
    fewer = night_of(past, capsys)
    assert fewer["missed"] == []
    assert 1 <= len(fewer["reports"][0]["runs"]) - 1 < len(early)
    spent = Spent(owner=team, day=MONDAY.isoformat(), core_hours=sum(takes))
    past.store.put(ClusterKeys("night").slots, encode(Slots(spent=(spent,))))
    assert len(night_of(past, capsys)["reports"][0]["runs"]) == 1


def instant_of(run: dict) -> float:
    return dt.datetime.fromisoformat(run["start"]).timestamp()


@pytest.mark.parametrize("more", [[], ["--day", "2026-03-02", "night.toml"]])
def test_a_night_is_given_once(more, capsys):
    assert run(["schedule", "plan", *more]) == 2
    assert " a store" in capsys.readouterr().err


def test_what_was_decided_for_the_runs_is_what_is_shown(past, capsys):
    """A report that has chosen, and two of a group: in the night these are one."""
    calm = replace(NIGHT, blackouts=(), ceiling=(Hours(start="00:00", end="24:00", value=1.0),))
    declare(past.store, calm)
    once = Retries(count=0, pauses_s=0.0)
    for spec, group in ((past.spec, ""), (also(past, "x"), "g"), (also(past, "y"), "g")):
        opened_by_dag(past, spec)
        day = replace(past.day_of(MONDAY), spec=spec, at=Generation(spec.name, f"{MONDAY}", "1"))
        asked = Decision(before=1, now=at(0), retries=once, cluster=calm, group=group)
        choose_day(day, asked)
    decided = {one.report: one.days[-1].runs for one in reports_of(past.store, "night", MONDAY)}
    assert decided["x"] == decided["y"]
    night = stored_night(past.store, "", MONDAY, at(0))
    plan = plan_night(night.reports, night.cluster)
    shown = {one.report.name: [run.start for run in one.runs[:-1]] for one in plan.plans}
    assert sorted(shown) == ["g", "totals"]
    for name, report in (("totals", "totals"), ("g", "x")):
        waits = zip(shown[name], decided[report][:-1], strict=True)
        assert shown[name]
        assert all(run.at <= start <= run.at + 900 for start, run in waits)
    assert plan.moved == frozenset()
    assert plan.peak <= 1
