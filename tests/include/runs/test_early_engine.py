"""Which engine does an early run: the small one where the report asks for it, all is known to be
exact there, it has not too much to read, and the day is cheaper for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import pytest

from forerun.include.engines import ENGINES
from forerun.include.reports.expectations import expect
from forerun.include.reports.spec import ReportSpec, RunPolicy, RunTime
from forerun.include.reports.values.fields import SpecError
from forerun.include.runs import day_request, early_engine, exact_engines
from forerun.include.runs.early_engine import DEARER
from forerun.include.runs.prepare import PreparedRun, ask_for_run, prepare_run
from forerun.include.runs.prepare_units import AskedUnit, PreparedUnits, prepare_units
from forerun.include.sources.formats import FORMATS
from forerun.include.sources.texts.csv_format import CsvFormat
from forerun.planner.contract import FamilyInput
from forerun.planner.cost.constants import MICRO
from forerun.planner.cost.prices import STARTS
from forerun.planner.request import Settings
from tests.include.days.day_cases import EARLY, NOW, DayCase
from tests.spark.stored_days import pretended

SAIL = ENGINES["sail"]
ABOVE = "SELECT k, count(*) AS n FROM orders WHERE abs(v) > 3 GROUP BY k"
NO_NULL = expect("expect_column_values_to_not_be_null", column="v")


@dataclass
class EarlyCase(DayCase):
    """A report of three runs whose early ones are Sail's."""

    runs: int = 3
    query: str = "SELECT k, sum(v) AS total FROM orders GROUP BY k"

    @property
    def spec(self) -> ReportSpec:
        spec = super().spec
        return replace(spec, sql=self.query, policy=replace(spec.policy, early_engine="sail"))

    def begin(self, spec: ReportSpec | None = None, **asking: object) -> PreparedRun:
        """Open the day and prepare its first run."""
        self.deliver("a", (1, 10), (2, 20))
        return prepare_run(self.day(self.open(), spec), 1, now=NOW, **{"settings": EARLY, **asking})


@pytest.fixture
def case(tmp_path):
    return EarlyCase(tmp_path, str(tmp_path / "store"))


def test_early_runs_are_planned_for_it_and_the_final_one_is_not(case: EarlyCase):
    first = case.begin()
    assert (first.engine, first.why_not_early) == ("sail", "")
    runs = first.result.plan.runs
    assert runs[0].estimated_cost / MICRO < 2
    assert runs[2].estimated_cost / MICRO > 9
    case.commit(first)
    case.deliver("b", (1, 30), (2, 40))
    second = case.prepare(first.at.generation, 2)
    assert second.engine == "sail"
    case.commit(second, "a2")
    case.deliver("c", (3, 30))
    final = case.prepare(first.at.generation, 3)
    assert (final.engine, final.why_not_early) == ("", "")
    kept = {family.id for family in second.result.plan.families}
    read = {
        item.family
        for stage in final.result.plan.run.stages
        for item in stage.inputs
        if isinstance(item, FamilyInput)
    }
    assert read & kept


def test_nothing_is_kept_by_a_key_on_such_a_day(case: EarlyCase, monkeypatch):
    monkeypatch.setattr(day_request, "to_source", pretended)
    case.query = "SELECT k, count(DISTINCT v) AS n FROM orders GROUP BY k"
    plan = case.begin().result.plan
    assert plan.families
    assert not any(family.key or family.buckets for family in plan.families)
    spark = prepare_run(case.day(case.open("again")), 1, now=NOW, settings=EARLY, one_engine=True)
    assert any(family.buckets for family in spark.result.plan.families)


@pytest.mark.parametrize(
    ("changes", "why"),
    [({"sql": ABOVE}, "was not compared with Spark"),
     ({"checked": True}, "what is expected of its sources is checked by Spark")],
)  # fmt: skip
def test_what_may_be_other_there_is_left_to_spark(case: EarlyCase, changes, why):
    if changes.pop("checked", False):
        (orders,) = case.spec.sources
        changes["sources"] = (replace(orders, expectations=(NO_NULL,)),)
    prepared = case.begin(replace(case.spec, **changes))
    assert prepared.engine == ""
    assert why in prepared.why_not_early


def test_what_waits_for_the_final_run_may_be_anything(case: EarlyCase):
    """The sums are exact; their logarithm is taken, and numbered, in the final run alone."""
    sums = "SELECT k, sum(v) AS total FROM orders GROUP BY k"
    above = "SELECT k, ln(total) AS l, row_number() OVER (ORDER BY total, k) AS n"
    prepared = case.begin(replace(case.spec, sql=f"{above} FROM ({sums}) q"))
    assert (prepared.engine, prepared.why_not_early) == ("sail", "")
    assert prepared.result.plan.run.stages


def test_what_is_expected_of_the_result_is_checked_by_the_final_run(case: EarlyCase):
    assert case.begin(replace(case.spec, expectations=(NO_NULL,))).engine == "sail"


class OtherFormat(CsvFormat):
    """A format that Spark reads by a reader of its own."""

    engine_format = "orc"


def test_files_that_spark_reads_by_another_reader_are_left_to_it(case: EarlyCase, monkeypatch):
    monkeypatch.setitem(FORMATS, "csv", OtherFormat())
    (orders,) = case.spec.sources
    case.orders.mkdir(parents=True)
    (case.orders / "a.csv").write_text("k,v\n1,2\n")
    spec = replace(case.spec, sources=(replace(orders, format="csv"),))
    prepared = prepare_run(case.day(case.open(), spec), 1, now=NOW, settings=EARLY)
    assert prepared.why_not_early == "the files of orders are read by Spark's reader of orc"


def test_where_it_is_not_installed_spark_does_it(case: EarlyCase, monkeypatch):
    monkeypatch.setattr(early_engine, "find_spec", lambda _package: None)
    prepared = case.begin()
    assert prepared.engine == ""
    assert prepared.why_not_early == "pysail is not installed where runs are planned"


def test_too_much_to_read_is_left_to_spark(case: EarlyCase, monkeypatch):
    """What a run reads counts, not what there is: of a source, what has come."""
    case.deliver("large", *((number, number**3) for number in range(20_000)))
    first = case.begin()
    case.commit(first)
    much = sum(path.stat().st_size for path in case.orders.iterdir())
    case.deliver("b", (1, 30))
    assert much > 100_000
    monkeypatch.setattr(exact_engines, "MOST_READ_BYTES", much // 2)
    assert case.prepare(first.at.generation, 2).engine == "sail"
    monkeypatch.setattr(exact_engines, "MOST_READ_BYTES", 10)
    second = case.prepare(first.at.generation, 2)
    assert second.engine == ""
    assert "it reads" in second.why_not_early
    assert second.result.plan.runs[1].estimated_cost / MICRO > 9


def test_a_day_that_is_cheaper_without_it_is_sparks(case: EarlyCase, monkeypatch):
    dear = replace(SAIL, apart=replace(SAIL.apart, run_start=1e9))
    monkeypatch.setattr(early_engine, "engine_spec", lambda _name: dear)
    prepared = case.begin()
    assert prepared.engine == ""
    assert prepared.why_not_early == DEARER


def test_a_run_that_gives_a_result_is_sparks(case: EarlyCase):
    case.results_at = (1,)
    first = case.begin()
    assert (first.engine, first.why_not_early) == ("", "")
    case.commit(first)
    case.deliver("b", (1, 30))
    assert case.prepare(first.at.generation, 2).engine == "sail"


def test_one_engine_does_all_where_that_is_asked_for(case: EarlyCase):
    prepared = case.begin(one_engine=True)
    assert (prepared.engine, prepared.why_not_early) == ("", "")


def test_by_cost_a_small_day_has_no_early_run_on_either(case: EarlyCase):
    prepared = case.begin(settings=Settings())
    assert prepared.skip_reason


def grouped(case: EarlyCase, generation: str, *specs: ReportSpec) -> PreparedUnits:
    """The first runs of reports of a group, by the same day's handle."""
    return prepare_units([
        AskedUnit(
            ask=partial(
                ask_for_run, case.day(generation, spec), 1, now=NOW, settings=EARLY
            ),
            points=(1, 2, 3),
        )
        for spec in specs
    ])  # fmt: skip


def test_reports_of_a_group_have_each_the_engine_that_they_name(case: EarlyCase, monkeypatch):
    case.deliver("a", (1, 10), (2, 20))
    # Else it is cheaper in the application that is there for the other one.
    cheap = replace(SAIL, apart=SAIL.apart.with_prices(dict.fromkeys(STARTS, 0.0)))
    monkeypatch.setattr(early_engine, "engine_spec", lambda _name: cheap)
    own = replace(case.spec, policy=replace(case.spec.policy, early_engine=""))
    found = grouped(case, case.open(), case.spec, own)
    assert [run.engine for run in found.runs] == ["sail", ""]
    assert {engine: len(runs) for engine, runs in found.by_engine.items()} == {"sail": 1, "": 1}


def test_in_a_group_too_much_to_read_and_what_is_dearer_is_left_to_spark(case, monkeypatch):
    case.deliver("a", (1, 10), (2, 20))
    generation = case.open()
    assert [run.engine for run in grouped(case, generation, case.spec).runs] == ["sail"]
    with monkeypatch.context() as patched:
        patched.setattr(exact_engines, "MOST_READ_BYTES", 10)
        (run,) = grouped(case, generation, case.spec).runs
        assert run.engine == ""
        assert "it reads" in run.why_not_early
    dear = replace(SAIL, apart=replace(SAIL.apart, run_start=1e9))
    monkeypatch.setattr(early_engine, "engine_spec", lambda _name: dear)
    (run,) = grouped(case, generation, case.spec).runs
    assert (run.engine, run.why_not_early) == ("", DEARER)


def test_no_other_engine_can_be_named():
    with pytest.raises(SpecError, match="early_engine"):
        RunPolicy(runs=(RunTime(at="24:00"),), early_engine="spark")
