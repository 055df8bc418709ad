"""Reports that read reports, in a real Airflow: the assets hold, and what is not complete says so
from the first to the last, until it is."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, date, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.days.partition_sink import read_stamp
from forerun.include.days.results import NotCompleteError, read_result
from tests.airflow.conftest import ROOT

pytestmark = [pytest.mark.airflow, pytest.mark.spark]

DAY = date(2026, 3, 1)
REPORTS = ("chain_a", "chain_b", "chain_c", "chain_d")


class Chain:
    """The four DAGs, synchronized into the database as the DAG processor does it."""

    def __init__(self, root, bag):
        self.root, self.bag = root, bag

    def run(self, dag_id):
        run = self.bag.get_dag(dag_id).test(logical_date=datetime(2026, 3, 1, tzinfo=UTC))
        return {ti.task_id: str(ti.state) for ti in run.get_task_instances()}

    def deliver(self, name, amount):
        folder = self.root / "sales" / DAY.isoformat()
        folder.mkdir(parents=True, exist_ok=True)
        table = pa.table({"item": ["apple"], "amount": pa.array([amount], pa.int64())})
        pq.write_table(table, folder / f"{name}.parquet")

    def mark(self):
        (self.root / "sales" / DAY.isoformat() / "_SUCCESS").touch()

    def table(self, report):
        return self.root / "tables" / report / f"ds={DAY}" / f"{report}.parquet"

    def rows(self, report):
        return [
            (r["item"], int(r["revenue"])) for r in pq.read_table(self.table(report)).to_pylist()
        ]

    def result(self, report, **how):
        return read_result(str(self.root / "store"), report, DAY, **how)


@pytest.fixture(scope="module")
def chain(airflow_home, tmp_path_factory):
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.dag_processing.dagbag import BundleDagBag, sync_bag_to_db
    from airflow.utils.session import create_session

    root = tmp_path_factory.mktemp("chain")
    file = airflow_home / "dags" / "chain.py"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORERUN_TEST_ROOT", str(root))
        shutil.copy(ROOT / "tests" / "airflow" / "dag_files" / "chain.py", file)
        with create_session() as session:
            manager = DagBundlesManager()
            manager.sync_bundles_to_db(session=session)
            session.commit()
        (bundle,) = manager.get_all_dag_bundles()
        bag = BundleDagBag(dag_folder=str(file), bundle_path=bundle.path, bundle_name=bundle.name)
        assert not bag.import_errors
        sync_bag_to_db(bag, bundle.name, bundle.version)
        yield Chain(root, bag)
        file.unlink()


def _assets():
    """The active assets of the database, names and URIs, and what the DAG processor warned of."""
    from airflow.models.asset import AssetActive
    from airflow.models.dagwarning import DagWarning
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        active = {tuple(row) for row in session.execute(select(AssetActive.name, AssetActive.uri))}
        warned = [warning.message for warning in session.scalars(select(DagWarning))]
    return active, warned


def _newest_event(uri):
    from airflow.models.asset import AssetEvent, AssetModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        query = (
            select(AssetEvent)
            .join(AssetModel, AssetModel.id == AssetEvent.asset_id)
            .where(AssetModel.uri == uri)
            .order_by(AssetEvent.id.desc())
        )
        return session.scalars(query).first().extra


def test_every_asset_of_a_chain_has_one_name_and_one_uri(chain):
    active, warned = _assets()
    assert active >= {(f"forerun_report_{r}", f"forerun://report/{r}") for r in REPORTS}
    assert not [text for text in warned if "forerun" in text]


def test_what_is_not_complete_says_so_all_along_the_chain_and_is_complete_in_the_end(chain):
    chain.deliver("early", 1)
    assert chain.run("chain_a")["publish"] == "success"
    what = f"no _SUCCESS in {chain.root}/sales/{DAY}"
    assert chain.result("chain_a", require_complete=False).incomplete == (("sales", what),)
    with pytest.raises(NotCompleteError, match="sales: no _SUCCESS"):
        chain.result("chain_a")
    assert read_stamp(chain.table("chain_a").read_bytes()).incomplete == (("sales", what),)
    assert _newest_event("forerun://report/chain_a")["incomplete"] == [["sales", what]]

    assert chain.run("chain_b")["publish"] == "success"
    assert chain.rows("chain_b") == [("apple", 2)]
    ((source, said),) = chain.result("chain_b", require_complete=False).incomplete
    assert source == "chain_a"
    assert said.startswith(f"asset forerun://report/chain_a was not complete on {DAY}: sales: no")

    states = chain.run("chain_c")
    assert (states["run_1.wait"], states["publish"]) == ("failed", "upstream_failed")
    assert not chain.table("chain_c").exists()
    assert chain.run("chain_d")["run_1.wait"] == "failed"

    chain.deliver("late", 10)
    chain.mark()
    for report in REPORTS:
        states = chain.run(report)
        assert set(states.values()) == {"success"}, (report, states)
        pointer = chain.result(report)
        assert (pointer.complete, pointer.incomplete) == (True, ())
        # A table has one file a day, which the day that is done again replaces.
        assert [p.name for p in chain.table(report).parent.iterdir() if p.name[0] != "."] == [
            f"{report}.parquet"
        ]
        assert pointer.generation == 2
        assert _newest_event(f"forerun://report/{report}")["incomplete"] == []
    assert [chain.rows(r) for r in REPORTS] == [[("apple", n)] for n in (11, 22, 44, 88)]
    metadata = pq.read_metadata(chain.table("chain_d")).metadata
    assert json.loads(metadata[b"forerun"])["incomplete"] == []
    assert os.environ["FORERUN_TEST_ROOT"] == str(chain.root)
