"""Runs on a Spark Connect server that is there already: no application is started for them."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from forerun.doctors.spark_connect import examine_endpoint
from forerun.include.engines import ENGINES
from forerun.include.state.commits import read_commit
from forerun.include.stores.opening import open_store
from forerun.planner.cost.prices import SPARK
from forerun.spark_jobs import run
from forerun.spark_jobs.engine import EngineError
from forerun.spark_jobs.engines.connect import ConnectEngine, start_connect
from forerun.spark_jobs.failures import StageError, explained
from tests.spark.days import Day, Sale, expected, publish, save_rows, save_sums
from tests.spark.standalone import connect_server

LOGIN = "me:hush"
FIRST: list[Sale] = [(1, "a", 100), (2, None, 250), (3, "b", 5)]
SECOND: list[Sale] = [(4, "a", 7), (5, "c", 1)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with connect_server(tmp_path_factory.mktemp("server")) as (address, _):
        yield address


def planned(day: Day, number: int, *, final: bool = False) -> list[str]:
    stages = (save_rows(number), save_sums(number), *((publish(number),) if final else ()))
    key = day.plan_run(number, stages, final=final)
    return ["--plan", day.store.uri(key), "--run", str(number)]


def on(address: str, attempt: str = "a1") -> list[str]:
    return ["--attempt", attempt, "--engine", "connect", "--master", address]


@pytest.mark.spark
def test_a_day_on_a_server_is_what_the_plain_query_gives(
    server: str, day: Day, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the entry that a task calls. The files' names hold what Spark takes for a pattern."""
    day.deliver(FIRST)
    assert run.main([*planned(day, 1), *on(server)]) == 0
    day.deliver(SECOND)
    assert run.main([*planned(day, 2, final=True), *on(server)]) == 0
    commit = read_commit(day.store, day.at, 2)
    assert commit is not None
    assert day.rows(commit) == expected([FIRST, SECOND])
    assert commit.metrics.engine == "connect"
    assert commit.metrics.source_rows_read == 2
    assert commit.metrics.process_cpu_s == 0, "of the server's nobody knows, so it is not measured"
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["won"]


@pytest.mark.spark
def test_two_runs_at_once_see_their_own_views_and_leave_no_table(
    server: str, tmp_path: Path
) -> None:
    one, other = start_connect(master=server), start_connect(master=server)
    try:
        for engine, delivery in ((one, FIRST), (other, SECOND)):
            day = Day(tmp_path / engine.session.session_id)
            day.folder.mkdir()
            day.deliver(delivery)
            planned(day, 1, final=True)
            assert day.rows(day.do(engine)) == expected([delivery])
        assert (counted(one), counted(other)) == (len(FIRST), len(SECOND))
        tables = one.session.sql("SHOW TABLES").collect()
        assert [row.tableName for row in tables if not row.isTemporary] == []
    finally:
        one.stop()
        other.stop()


def counted(engine: ConnectEngine) -> int:
    found: int = engine.session.sql("SELECT count(*) AS n FROM f_rows").collect()[0].n
    return found


@pytest.mark.spark
@pytest.mark.slow
def test_a_server_that_dies_fails_the_run_and_the_retry_succeeds(
    server: str, day: Day, tmp_path: Path
) -> None:
    day.deliver(FIRST)
    arguments = planned(day, 1, final=True)
    with connect_server(tmp_path / "mortal") as (address, process):
        engine = start_connect(master=address)
        process.kill()
        process.wait()
        with pytest.raises(StageError), explained("the run"):
            day.do(engine)
    assert read_commit(day.store, day.at, 1) is None
    assert run.main([*arguments, *on(server, "a2")]) == 0
    commit = read_commit(day.store, day.at, 1)
    assert commit is not None
    assert day.rows(commit) == expected([FIRST])


@pytest.mark.spark
def test_the_doctor_tries_the_server_and_leaves_nothing(server: str, tmp_path: Path) -> None:
    found = examine_endpoint(server, str(tmp_path / "store"))
    assert [(f.name, f.state) for f in found] == [("connect", "ok"), ("connect-store", "ok")]
    assert open_store(str(tmp_path / "store")).list("probe/") == ()


def test_the_doctor_says_what_is_wrong_and_no_token(tmp_path: Path) -> None:
    (found,) = examine_endpoint("sc://host/;token=hush", str(tmp_path))
    assert (found.name, found.state) == ("connect", "problem")
    assert "hush" not in found.found + found.todo
    assert "SPARK_CONNECT_AUTHENTICATE_TOKEN" in found.todo


def test_a_server_that_is_down(day: Day, capsys: pytest.CaptureFixture[str]) -> None:
    day.deliver(FIRST)
    with socket.socket() as held:  # bound, and nobody listens
        held.bind(("127.0.0.1", 0))
        address = f"sc://127.0.0.1:{held.getsockname()[1]}"
        assert run.main([*planned(day, 1, final=True), *on(address)]) == run.CANNOT
    said = capsys.readouterr().err
    assert f"no Spark Connect server answers at {address.removeprefix('sc://')}" in said
    assert "hint: Start the server" in said
    assert read_commit(day.store, day.at, 1) is None


@pytest.mark.parametrize(
    "address",
    ["sc://host:15002/;token=hush", "sc://host:15002/;use_ssl=true;TOKEN=hush",
     f"sc://{LOGIN}@host", "sc://host:hush", "spark://hush:7077", "", None],
)  # fmt: skip
def test_an_address_that_cannot_be_used_is_not_repeated(address: str | None) -> None:
    with pytest.raises(EngineError) as caught:
        start_connect(master=address)
    assert "hush" not in str(caught.value)
    assert caught.value.hint


def test_a_run_on_a_server_is_not_charged_an_application() -> None:
    prices = ENGINES["connect"].prices
    assert prices.run_start == prices.in_group().run_start < SPARK.run_start
    assert prices.application([prices.stage_start]) == 0
    assert not prices.buckets
