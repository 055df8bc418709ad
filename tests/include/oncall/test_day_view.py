"""A day in full and its plan as a graph, from the records of real runs."""

from __future__ import annotations

import json

from forerun.include.oncall.day.plan_graph import RESULT, read_plan_graph
from forerun.include.oncall.day.view import read_day_view
from forerun.include.state.layout import Generation, history_key
from forerun.include.state.records import CheckRecord, encode
from forerun.planner.contract import decode_plan
from forerun.planner.contract.plan_v1 import SourceInput
from tests.include.days.ledgers import before, ran
from tests.include.oncall.dag_days import at, dag_day


def whole_day(folder, **checks):
    """Both runs, committed."""
    case = dag_day(folder)
    case.begin()
    case.make(1, at(12))
    case.deliver("2", (3, 4))
    case.make(2, at(16), **checks)
    return case


def test_runs_as_planned_and_as_they_were(tmp_path):
    case = dag_day(tmp_path)
    case.begin()
    assert [run.state for run in read_day_view(case.store, case.read()).runs] == ["ahead", "ahead"]
    case.make(1, at(12))
    early, final = read_day_view(case.store, case.read()).runs
    assert (early.state, early.at, early.weight, early.final) == ("committed", at(12), 0.25, False)
    assert (final.state, final.final) == ("planned", True)
    assert early.commit.run == 1
    assert final.commit is None
    assert early.estimated_s > 0
    assert {(kept.rows, kept.bytes > 0) for kept in early.kept} == {(1, True)}
    assert "orders" in early.flow
    assert [v.file.run for v in read_day_view(case.store, case.read()).versions] == [1]


def test_deliveries_as_they_came_and_as_earlier_days_had_them(tmp_path):
    case = whole_day(tmp_path)
    (orders,) = read_day_view(case.store, case.read()).arrivals
    assert orders.seen == ((at(12), 2), (at(16), 3))
    assert (orders.growing, orders.expected) == (True, ())
    for run, rows in ((1, 600), (2, 1000)):
        entry = ran(before(1), run, 13.0, 10.0, arrived=(("orders", rows),))
        case.store.put(history_key(Generation("totals", before(1), "1"), run), encode(entry))
    (orders,) = read_day_view(case.store, case.read()).arrivals
    assert orders.expected == ((at(12), 600), (at(16), 1000))


def test_checks_with_what_did_not_hold(tmp_path):
    key = "reports/totals/checks.json"
    found = {"severity": "critical", "outcome": "failed", "sentence": "n >= 1: failed", "rows": []}
    checks = (
        CheckRecord(target="orders", key="nothing.json"),
        CheckRecord(target="result", key=key, critical=1),
    )
    case = whole_day(tmp_path, checks=checks)
    case.store.put(key, json.dumps({"findings": [found]}).encode())
    held, failed = read_day_view(case.store, case.read()).checks
    assert (held.target, held.failed) == ("orders", ())
    assert failed.failed == (("critical", "run 2, result: n >= 1: failed"),)


def test_how_the_plan_changed_and_why(tmp_path):
    case = dag_day(tmp_path)
    case.begin()
    case.plan(1, at(12))
    case.make(1, at(12, 5))
    case.deliver("2", (3, 4))
    case.make(2, at(16))
    first, again, final = read_day_view(case.store, case.read()).versions
    assert first.changes == ("the first plan of the day",)
    assert again.changes == ("nothing: it was planned again as before",)
    assert "run 1 is committed" in final.changes
    assert [v.followed for v in (first, again, final)] == [False, True, True]


def test_the_graph_has_an_arrow_for_everything_that_a_stage_reads(tmp_path):
    case = whole_day(tmp_path)
    records = case.read()
    graph = read_plan_graph(case.store, records, records.plan)
    assert graph.runs == (1, 2)
    assert [lane.kind for lane in graph.lanes] == sorted(
        (lane.kind for lane in graph.lanes), key=("source", "kept", "result").index
    )
    nodes = {node.id: node for node in graph.nodes}
    for source, target in graph.edges:
        before_run = nodes[source].run < nodes[target].run
        assert before_run or nodes[source].level < nodes[target].level
        assert nodes[target].stage is not None
    assert any(nodes[s].run < nodes[t].run for s, t in graph.edges), "what is kept is read"
    (report,) = [node for node in graph.nodes if node.lane == RESULT]
    assert report.run == 2
    assert report.stage.folder == records.final.result.folder
    stages = {1: decode_plan(case.store.get(records.chain[0].plan)).runs[0].stages}
    stages[2] = records.plan.runs[1].stages
    for node in graph.stages:
        planned = next(s for s in stages[node.run] if s.id == node.stage.id)
        assert planned.sql.strip() in node.stage.sql
        assert len(node.stage.reads) == len(planned.inputs)
        sources = [i.version for i in planned.inputs if isinstance(i, SourceInput)]
        read = [nodes[s].title for s, t in graph.edges if t == node.id and not nodes[s].stage]
        assert sorted(read) == sorted(f"{'new' if v == 'delta' else 'all'} rows" for v in sources)
