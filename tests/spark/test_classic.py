"""What only Spark has: buckets, shuffles, the event log, cached frames."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.days.partition_sink import Stamp, publish_partition
from forerun.include.reports.expectations import expect
from forerun.include.reports.spec import PartitionFolder
from forerun.include.state.commits import ArtifactError, describe_partition, read_commit
from forerun.include.stores.file_store import FileStore
from forerun.planner.contract import (
    ArtifactOutput,
    ColumnSpec,
    Family,
    FamilyInput,
    SourceInput,
    Stage,
)
from forerun.planner.contract.plan_v1 import SmallSide
from forerun.planner.errors import ContractError
from forerun.planner.nesting import MOST_LEVELS
from forerun.spark_jobs import stages
from forerun.spark_jobs.engine import Frame
from forerun.spark_jobs.engines import spark as classic
from forerun.spark_jobs.engines.spark import SparkEngine
from forerun.spark_jobs.inputs import bind_inputs, load_inputs
from tests.spark.days import SALES, Day, expected, publish, save_rows, save_sums

pytestmark = pytest.mark.spark

# More rows than buckets, NULL keys, equal rows, one hot key.
FIRST = [(i % 50, "abc"[i % 3], i) for i in range(400)] + [(None, None, 7)] * 3
SECOND = [(i % 70, "abd"[i % 3], i) for i in range(300)] + [(7, "a", 1)] * 40
WIDE = Family(
    id="f_wide",
    kind="shuffle",
    fingerprint="wide",
    title="sales by id, more buckets",
    columns=SALES,
    key=("id",),
    buckets=8,
)


def save_wide(run: int) -> Stage:
    return replace(save_rows(run), id="save-wide", output=ArtifactOutput(family="f_wide"))


@pytest.fixture(scope="module")
def kept(
    tmp_path_factory: pytest.TempPathFactory, spark: SparkEngine
) -> Iterator[tuple[Day, SparkEngine]]:
    """A day with two committed runs, bound for a third whose delivery is small."""
    day = Day(tmp_path_factory.mktemp("kept"))
    families = {"families": (*_families(), WIDE)}
    day.deliver(FIRST)
    day.plan_run(1, (save_rows(1), save_sums(1), save_wide(1)), **families)
    day.do(spark)
    day.deliver(SECOND)
    day.plan_run(2, (save_rows(2), save_sums(2), save_wide(2)), **families)
    day.do(spark, "a2")
    day.deliver([(3, "a", 5), (None, "b", 6)])
    delta = SourceInput(view="sales__delta", source="sales", version="delta")
    probe = replace(
        save_rows(3), inputs=(delta, FamilyInput(family="f_rows"), FamilyInput(family="f_sums"),
        FamilyInput(family="f_wide")),
    )  # fmt: skip
    day.plan_run(3, (probe,), **families)
    bind_inputs(spark, day.store, load_inputs(day.store, day.at, day.plan))
    before = spark.session.conf.get("spark.sql.autoBroadcastJoinThreshold")
    spark.configure((("spark.sql.autoBroadcastJoinThreshold", "-1"),))
    yield day, spark
    spark.configure((("spark.sql.autoBroadcastJoinThreshold", before),))


def _families() -> tuple[Family, ...]:
    from tests.spark.days import ROWS, SUMS

    return ROWS, SUMS


OLD = "(SELECT * FROM `f_rows` WHERE `__run` < 2) AS `l`"
NEW = "(SELECT * FROM `f_rows` WHERE `__run` = 2) AS `r`"
ALL = "(SELECT * FROM `f_rows` WHERE `__run` <= 2) AS `l`"
QUERIES = {
    "aggregate": "SELECT `id`, sum(`amount`), count(*) FROM `f_rows` GROUP BY `id`",
    "aggregate of old": f"SELECT `id`, count(*) FROM {OLD} GROUP BY `id`",
    "aggregate on more than the key": f"SELECT `id`, `shop`, count(*) FROM {ALL} GROUP BY 1, 2",
    "distinct keys": f"SELECT DISTINCT `id` FROM {ALL}",
    "inner join": f"SELECT * FROM {OLD} JOIN {NEW} ON `l`.`id` = `r`.`id`",
    "left join": f"SELECT * FROM {OLD} LEFT JOIN {NEW} ON `l`.`id` = `r`.`id`",
    "semi join": f"SELECT * FROM {OLD} LEFT SEMI JOIN {NEW} ON `l`.`id` = `r`.`id`",
    "anti join": f"SELECT * FROM {OLD} LEFT ANTI JOIN {NEW} ON `l`.`id` = `r`.`id`",
    "join on more than the key": (
        f"SELECT * FROM {OLD} JOIN {NEW} ON `l`.`id` = `r`.`id` AND `l`.`shop` = `r`.`shop`"
    ),
    "join, then aggregate": (
        f"SELECT `l`.`id`, count(*) FROM {OLD} JOIN {NEW} ON `l`.`id` = `r`.`id` GROUP BY 1"
    ),
    "families with other bucket counts": (
        "SELECT * FROM `f_rows` AS `l` JOIN `f_wide` AS `r` ON `l`.`id` = `r`.`id`"
    ),
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
def test_no_shuffle_of_saved_rows(kept: tuple[Day, SparkEngine], query: str) -> None:
    assert exchanges(kept[1], query) == []


@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"])
def test_a_join_with_a_delivery_shuffles_the_delivery_only(
    kept: tuple[Day, SparkEngine], kind: str
) -> None:
    query = f"SELECT `l`.`id` FROM {ALL} {kind} `sales__delta` AS `d` ON `l`.`id` = `d`.`id`"
    found = exchanges(kept[1], query)
    assert len(found) == 1
    assert "f_rows" not in found[0]


def test_the_plan_test_can_fail(kept: tuple[Day, SparkEngine]) -> None:
    """A key that is not the family's is shuffled, and the reader of plans sees it."""
    found = exchanges(kept[1], "SELECT `amount`, count(*) FROM `f_rows` GROUP BY `amount`")
    assert len(found) == 1
    assert "f_rows" in found[0]


def test_partitions_hold_what_their_runs_delivered(kept: tuple[Day, SparkEngine]) -> None:
    _, engine = kept
    counted = engine.session.sql(
        "SELECT `__run`, count(*), count(DISTINCT `id`) FROM `f_rows` GROUP BY 1 ORDER BY 1"
    ).collect()
    assert [tuple(row) for row in counted] == [(1, 403, 50), (2, 340, 70)]


def test_every_bucket_is_read(kept: tuple[Day, SparkEngine]) -> None:
    """Groups by bucketed scan are those of a plain scan of the same files."""
    day, engine = kept
    inputs = load_inputs(day.store, day.at, day.plan)
    files = [
        day.store.uri(f"{part.folder}/{file.name}")
        for part in inputs.partitions("f_rows")
        for file in part.files
    ]
    plain = engine.read(files, SALES).groupBy("id").count()
    saved = engine.session.sql("SELECT `id`, count(*) AS `count` FROM `f_rows` GROUP BY `id`")
    assert sorted(map(tuple, saved.collect()), key=str) == sorted(
        map(tuple, plain.collect()), key=str
    )


def test_an_aggregate_is_saved_without_a_second_shuffle(
    kept: tuple[Day, SparkEngine], tmp_path: Path
) -> None:
    """The shuffle of the aggregate is the one that the buckets need."""
    _, engine = kept
    family = replace(WIDE, columns=SALES[:1], buckets=4)
    with engine.shuffling_into(family.buckets):
        rows = engine.session.sql("SELECT `id` FROM `sales__delta` GROUP BY `id`")
        plan = _plan(rows.repartition(4, rows["id"]))
    assert plan.count("Exchange ") == 1


@pytest.mark.parametrize(
    ("size", "cores", "partitions"),
    [(0, 2, 8), (511 << 20, 2, 8), (512 << 20, 2, 16), (0, 16, 16), (0, 17, 32), (1 << 40, 2, 200)],
)
def test_a_shuffle_has_partitions_for_its_bytes_and_for_all_cores(
    size: int, cores: int, partitions: int
) -> None:
    assert classic.few_partitions(size, cores) == partitions


def test_a_number_of_partitions_that_the_deployment_has_chosen_stays(spark: SparkEngine) -> None:
    assert spark.session.sparkContext.getConf().contains("spark.sql.shuffle.partitions")
    assert spark.partitions_for(1 << 40) == 0


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("threshold", "room", "sent"),
    [("10MB", None, True), ("1", None, True), ("1", 1000, False), ("-1", None, False)],
)
def test_a_side_that_is_computed_first_is_joined_by_its_size(
    spark: SparkEngine, monkeypatch, threshold: str, room: int | None, sent: bool, known: bool
) -> None:
    """Of a filtered table Spark assumes the size of the table, and sorts both sides; of rows that
    were counted, or are known, it has to guess nothing. Who wants no broadcasts has none."""
    name = "spark.sql.autoBroadcastJoinThreshold"
    before = spark.session.conf.get(name)
    spark.configure(((name, threshold),))
    if room is not None:
        monkeypatch.setattr(classic, "_SENT", room)
    many = spark.session.range(3_000_000).selectExpr("id", "id % 1000 AS k")
    many.createOrReplaceTempView("many")
    few = "SELECT id FROM many WHERE k = 7 AND id < 100000"
    joined = "SELECT count(*) FROM many JOIN {} AS few ON few.id = many.k"
    assert "SortMergeJoin" in _first_plan(spark, joined.format(f"({few})"))
    rows = spark.session.sql(few).count() if known else 0
    with spark.computed_first("__side_1", spark.session.sql(few), rows):
        assert ("BroadcastHashJoin" in _first_plan(spark, joined.format("__side_1"))) == sent
        there = spark.session.sql(joined.format("__side_1")).collect()
    assert there == spark.session.sql(joined.format(f"({few})")).collect()
    assert not spark.session.catalog.tableExists("__side_1")
    spark.configure(((name, before),))


@pytest.fixture
def sending(spark: SparkEngine) -> Iterator[None]:
    """The session sends small tables to all workers, as it does by default."""
    name = "spark.sql.autoBroadcastJoinThreshold"
    before = spark.session.conf.get(name)
    spark.configure(((name, "10MB"),))
    yield
    spark.configure(((name, before),))


@pytest.mark.usefixtures("sending")
def test_what_is_computed_twice_over_a_side_is_shuffled_once(spark: SparkEngine) -> None:
    """Over a table that is held in memory Spark shuffles it twice."""
    spark.session.range(300_000).selectExpr("id", "id % 50 AS k").createOrReplaceTempView("many")
    sums = "SELECT m.k, sum(m.id) AS s FROM many m JOIN {} f ON f.k = m.k GROUP BY m.k"
    twice = f"SELECT a.k, a.s + b.s AS s FROM ({sums}) a JOIN ({sums}) b ON a.k + 1 = b.k"

    def reused() -> bool:
        read = spark.session.sql(twice.format("__side_1", "__side_1"))
        read.collect()
        return bool(re.search("ReusedExchange.*Exchange hashpartitioning", _plan(read)))

    few = spark.session.sql("SELECT DISTINCT k FROM many WHERE k > 20")
    with spark.computed_first("__side_1", few, 0):
        assert reused()
    held = few.persist()
    held.count()
    held.hint("broadcast").createOrReplaceTempView("__side_1")
    assert not reused()  # else what is held is as good, and simpler
    held.unpersist()
    spark.session.catalog.dropTempView("__side_1")


ODD_VALUES = """
    SELECT * FROM VALUES
        (1Y, 2S, 3, 4L, CAST('NaN' AS FLOAT), -0.0D, 1.50BD, true, DATE'0001-01-01',
         TIMESTAMP'1582-10-10 01:02:03.000004', TIMESTAMP_NTZ'2026-03-29 02:30:00', 'a', X'00FF'),
        (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        (-128Y, 1S, 0, 1L, CAST('-Infinity' AS FLOAT), 4.9E-324D, 0.01BD, false, DATE'9999-12-31',
         TIMESTAMP'2026-10-25 02:30:00', TIMESTAMP_NTZ'0001-01-01 00:00:00',
         CAST(X'61FF00E9' AS STRING), X'')
"""


@pytest.mark.usefixtures("sending")
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_the_rows_of_a_side_are_what_they_were(spark: SparkEngine, zone: str) -> None:
    """In the plan they went through Java and back: days before 1582, hours that a clock shows
    twice, texts that are no UTF-8."""
    before = spark.session.conf.get("spark.sql.session.timeZone")
    spark.configure((("spark.sql.session.timeZone", zone),))
    rows = spark.session.sql(ODD_VALUES)
    columns = [name for name, _ in rows.dtypes]
    exact = [f"CAST(`{name}` AS STRING)" for name in columns]
    exact += ["hex(col12)", "hex(col13)", "unix_micros(col10)"]
    with spark.computed_first("__side_1", rows, 0):
        view = spark.session.table("__side_1")
        assert "LocalRelation" in view._jdf.queryExecution().optimizedPlan().toString()
        assert view.schema == rows.schema
        assert Counter(view.selectExpr(exact).collect()) == Counter(
            rows.selectExpr(exact).collect()
        )
    nested = spark.session.sql("SELECT array(1, 2) AS a")
    with spark.computed_first("__side_1", nested, 0):
        assert spark.session.table("__side_1").collect() == nested.collect()
    spark.configure((("spark.sql.session.timeZone", before),))


@pytest.mark.usefixtures("sending")
def test_a_side_of_many_rows_is_held_and_not_a_part_of_the_plan(
    spark: SparkEngine, monkeypatch
) -> None:
    monkeypatch.setattr(classic, "_IN_PLAN", 1000)
    for count, there in ((10, True), (100, False)):
        with spark.computed_first("__side_1", spark.session.range(count), 0):
            plan = spark.session.table("__side_1")._jdf.queryExecution().optimizedPlan().toString()
            assert ("LocalRelation" in plan) == there


def _first_plan(engine: SparkEngine, query: str) -> str:
    """What Spark plans before it has seen a row."""
    return str(engine.session.sql(query)._jdf.queryExecution().sparkPlan().toString())


def exchanges(engine: SparkEngine, query: str) -> list[str]:
    """The executed plan below each shuffle or broadcast of the query."""
    frame = engine.session.sql(query)
    frame.collect()
    lines = _plan(frame).splitlines()
    found = []
    for number, line in enumerate(lines):
        if re.search(r"\bExchange |BroadcastExchange ", line):
            depth = _depth(line)
            below = []
            for following in lines[number + 1 :]:
                if _depth(following) <= depth:
                    break
                below.append(following)
            found.append("\n".join(below))
    return found


def _plan(frame: object) -> str:
    text = frame._jdf.queryExecution().executedPlan().toString()
    return text.split("== Initial Plan ==")[0]


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" :+-*()0123456789"))


def test_a_day_on_spark(day: Day, spark: SparkEngine) -> None:
    first, second = FIRST[:40] + FIRST[-3:], SECOND[:30]
    day.deliver(first)
    day.plan_run(1, (save_rows(1), save_sums(1)))
    day.do(spark)
    day.deliver(second)
    checks = (expect("expect_column_values_to_not_be_null", column="id"),)
    day.plan_run(
        2, (save_rows(2), save_sums(2), publish(2)), final=True, source_checks=checks
    )  # fmt: skip
    commit = day.do(spark, "a2")
    assert day.rows(commit) == expected([first, second])
    metrics = commit.metrics
    # From the event log: the delivery is a source, the two families are state.
    assert [s.source_rows_read for s in metrics.stages] == [len(second), 0, 0]
    # ORDER BY over a bucketed aggregate, no shuffle below it: Spark reads twice, once to sample.
    assert [s.state_rows_read for s in metrics.stages] == [0, len(second), 2 * 7]
    assert metrics.source_rows_read == len(second)
    assert 0 < metrics.other_executor_cpu_s < metrics.executor_cpu_s < metrics.process_cpu_s
    assert all(stage.bytes_read > 0 for stage in metrics.stages)
    assert spark.session.sparkContext._jsc.getPersistentRDDs().size() == 0
    assert [(c.target, c.critical) for c in commit.checks] == [("sales", 0)]


class TestArtifactsThatAreNotWhatTheyWere:
    """Each is noticed before Spark reads a byte of it."""

    @pytest.fixture
    def second(self, day: Day, spark: SparkEngine) -> Day:
        day.deliver(FIRST[:20])
        day.plan_run(1, (save_rows(1), save_sums(1)))
        self.folder = day.folder / "my store" / day.do(spark).artifacts[0].folder
        day.plan_run(2, (save_sums(2), publish(2)), final=True)
        return day

    def files(self) -> list[Path]:
        return sorted(self.folder.glob("part-*"))

    def test_a_stray_file(self, second: Day, spark: SparkEngine) -> None:
        stray = self.files()[0].name.replace("part-", "part-9")
        (self.folder / stray).write_bytes(self.files()[0].read_bytes())
        with pytest.raises(ArtifactError, match="commit does not name it"):
            second.do(spark, "a2")

    def test_a_flipped_byte(self, second: Day, spark: SparkEngine) -> None:
        data = bytearray(self.files()[1].read_bytes())
        data[len(data) // 2] ^= 1
        self.files()[1].write_bytes(data)
        with pytest.raises(ArtifactError, match="other content"):
            second.do(spark, "a2")

    def test_a_vanished_file(self, second: Day, spark: SparkEngine) -> None:
        self.files()[0].unlink()
        with pytest.raises(ArtifactError, match="is gone"):
            second.do(spark, "a2")

    def test_a_wrong_bucket_count(self, second: Day, spark: SparkEngine) -> None:
        rows, sums = _families()
        second.plan_run(
            2, (save_sums(2), publish(2)), final=True, families=(replace(rows, buckets=2), sums)
        )
        with pytest.raises(ContractError, match="4 buckets"):
            second.do(spark, "a2")


def test_rows_of_the_other_engine_are_refused(day: Day, spark: SparkEngine, sail: object) -> None:
    day.deliver(FIRST[:10])
    day.plan_run(1, (save_rows(1), save_sums(1)))
    day.do(sail)
    day.plan_run(2, (save_sums(2), publish(2)), final=True)
    with pytest.raises(ContractError, match="0 buckets"):
        day.do(spark, "a2")


def test_names_that_need_quotes(day: Day, spark: SparkEngine) -> None:
    columns = (ColumnSpec(name="a `b", type="BIGINT"), ColumnSpec(name="c d", type="STRING"))
    family = Family(
        id="f_odd", kind="shuffle", fingerprint="odd", title="odd", columns=columns,
        key=("a `b",), buckets=2,
    )  # fmt: skip
    day.deliver(FIRST[:5])
    stage = replace(
        save_rows(1),
        sql="SELECT `id` AS `a ``b`, `shop` AS `c d` FROM `sales__delta`",
        output=ArtifactOutput(family="f_odd"),
    )
    day.plan_run(1, (stage,), families=(family,))
    assert day.do(spark).artifacts[0].rows == 5


def test_a_partition_folder_has_the_types_and_rows_that_spark_wrote(
    tmp_path: Path, spark: SparkEngine
) -> None:
    """The file is written anew on publishing: Spark must read back what it had written."""
    rows = spark.session.sql(
        "SELECT * FROM VALUES "
        "(true, 1Y, 2S, 3, 4L, 1.5F, 2.5D, 1.23BD, CAST(9 AS DECIMAL(38, 10)), 'ä', X'00FF', "
        "DATE'1582-10-04', TIMESTAMP'0001-01-01 00:00:00.000001', "
        "TIMESTAMP_NTZ'9999-12-31 23:59:59', ARRAY(1, NULL), "
        "MAP('k', TIMESTAMP'2026-01-01 00:00:00'), STRUCT(1 AS a, ARRAY('x') AS b)), "
        "(null, null, null, null, null, null, CAST('NaN' AS DOUBLE), null, null, null, null, "
        "null, null, null, null, null, null) "
        "AS t(`a b`, c2, c3, c4, c5, c6, c7, c8, c9, d1, d2, d3, d4, d5, d6, d7, d8)"
    )
    store = FileStore(tmp_path)
    spark.write_result(rows.repartition(2), store.uri("made"), ordered=False)
    made = describe_partition(
        store, family="result", run=1, attempt="a", folder="made", rows=2, columns=()
    )
    assert made.files
    stamp = Stamp(report="types", day="2026-03-01", version="1-1-a", generation=1)
    sink = PartitionFolder(path=str(tmp_path / "table"))
    publish_partition(store, made, sink, stamp)
    before = spark.session.read.parquet(store.uri("made"))
    after = spark.session.read.parquet(store.uri("table/ds=2026-03-01"))
    assert after.schema.jsonValue() == before.schema.jsonValue()
    # As text: Python has no year 1 west of Greenwich.
    rows_of = "CAST(STRUCT(*) AS STRING) AS row"
    assert sorted(after.selectExpr(rows_of).collect()) == sorted(
        before.selectExpr(rows_of).collect()
    )


@pytest.mark.parametrize("stage", ["rows", "sums", "result"])
def test_a_file_that_is_lost_before_it_is_listed_is_noticed(
    day: Day, spark: SparkEngine, monkeypatch, stage: str
) -> None:
    """What was written is what the tasks report. A listing could only tell of what is left."""
    day.deliver(FIRST)
    day.plan_run(1, (save_rows(1), save_sums(1), publish(1)), final=True)
    describe = stages.describe_partition

    def lose_one(store, **named):
        if named["family"].endswith(stage):
            store.delete(max(store.list(named["folder"]), key=lambda file: file.size).key)
        return describe(store, **named)

    monkeypatch.setattr(stages, "describe_partition", lose_one)
    with pytest.raises(ArtifactError, match=r"holds \d+ rows in \d+ files; \d+ were written"):
        day.do(spark)
    assert read_commit(day.store, day.at, 1) is None
    monkeypatch.undo()
    assert day.do(spark, "a2").attempt == "a2"


def test_writers_report_their_rows_also_if_there_are_none(
    tmp_path: Path, spark: SparkEngine
) -> None:
    family = Family(
        id="f_none", kind="shuffle", fingerprint="none", title="none",
        columns=(ColumnSpec(name="id", type="BIGINT", nullable=False),), key=("id",), buckets=2,
    )  # fmt: skip
    for count in (0, 5):
        frame = spark.session.range(count)
        folder = (tmp_path / f"{count}").as_uri()
        assert spark.write_artifact(frame, family, f"{folder}/buckets") == count
        plain = replace(family, key=(), buckets=0)
        assert spark.write_artifact(frame, plain, f"{folder}/plain") == count
        assert spark.write_result(frame, f"{folder}/result", ordered=True) == count


def test_a_text_of_thousands_of_conditions_is_not_compiled_as_one_method(
    spark: SparkEngine,
) -> None:
    name = "spark.sql.codegen.wholeStage"
    before = spark.session.conf.get(name)
    tests = " AND ".join(f"id <> {i + 5}" for i in range(2000))
    text = f"SELECT id FROM range(3) WHERE {tests}"
    with spark.running(text):
        assert spark.session.conf.get(name) == "false"
        assert "*(" not in _plan(spark.session.sql(text))
    short = "SELECT id FROM range(3) WHERE id <> 1 AND id <> 2"
    with spark.running(short):
        assert "*(" in _plan(spark.session.sql(short))
    assert spark.session.conf.get(name) == before


def test_as_many_levels_of_subqueries_are_read_as_reports_may_have(spark: SparkEngine) -> None:
    query = "SELECT id FROM range(200)"
    for level in range(MOST_LEVELS - 1):
        query = f"SELECT id FROM ({query}) s{level} WHERE id > {level}"
    assert spark.session.sql(query).columns == ["id"]


@pytest.mark.parametrize(
    "names",
    [
        ("part [0].parquet", "part [1].parquet"),
        ("plain.parquet", "odd{1}.parquet", "odd{2}.parquet"),
        ("day=*/a.parquet", "day=*/b.parquet", "day=1/a.parquet", "w?.parquet", "we.parquet"),
    ],
)
def test_each_file_is_read_once_whatever_patterns_its_name_could_be(tmp_path, spark, names):
    """Spark's own option that no path is a pattern gives such files several times."""
    for number, name in enumerate(names):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"id": [number]}), tmp_path / name)
    files = [f"file://{tmp_path / name}" for name in names]
    rows = spark.read(files, (ColumnSpec(name="id", type="BIGINT"),)).collect()
    assert sorted(row[0] for row in rows) == list(range(len(names)))


def test_a_side_that_is_computed_first_is_shuffled_as_its_stage_is(
    spark: SparkEngine, day: Day, monkeypatch
) -> None:
    """Held in the 200 parts that Spark shuffles into, it would be 200 tasks for each reader."""
    seen, compute = [], spark.computed_first

    def noted(view: str, frame: Frame, rows: int) -> AbstractContextManager[None]:
        seen.append(spark.session.conf.get("spark.sql.shuffle.partitions"))
        return compute(view, frame, rows)

    monkeypatch.setattr(spark, "computed_first", noted)
    monkeypatch.setattr(spark, "partitions_for", lambda _size: 5)
    day.deliver([(1, "a", 100), (2, "b", 250)])
    side = SmallSide(
        view="__side_1",
        sql="SELECT shop, sum(amount) AS t, count(*) AS n FROM sales GROUP BY shop",
        columns=(ColumnSpec(name="shop", type="STRING"),),
    )
    stage = replace(
        publish(1),
        sql="SELECT shop, CAST(t AS DECIMAL(20,2)) AS t, n AS c FROM __side_1 ORDER BY shop",
        inputs=(SourceInput(view="sales", source="sales", version="snapshot"),),
        small_sides=(side,),
    )
    day.plan_run(1, (stage,), final=True, method="own-batch", families=())
    assert len(day.rows(day.do(spark))) == 2
    assert seen == ["5"]
