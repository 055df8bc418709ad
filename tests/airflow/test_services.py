"""A day over a topic and a database through Airflow: a real broker, a real server (E1)."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from datetime import date

import pytest

from tests.airflow.conftest import ROOT
from tests.airflow.test_days import DAY, Days
from tests.kafka_broker import Broker
from tests.postgresql_server import Database

pytestmark = [pytest.mark.airflow, pytest.mark.spark]


@pytest.fixture
def served(airflow_home, tmp_path, shop: Broker, warehouse: Database):
    from airflow.dag_processing.dagbag import DagBag

    shop.create("sold")
    warehouse.do(
        "CREATE TABLE items (id bigint, item text)",
        "INSERT INTO items VALUES (1, 'apple'), (2, 'pear'), (3, 'plum')",
    )
    os.environ["FORERUN_TEST_ROOT"] = str(tmp_path)
    file = airflow_home / "dags" / "services.py"
    shutil.copy(ROOT / "tests" / "airflow" / "dag_files" / "services.py", file)
    bag = DagBag(str(file))
    assert not bag.import_errors
    yield Days(tmp_path, bag)
    file.unlink()
    del os.environ["FORERUN_TEST_ROOT"]


def test_a_topic_that_forgets_joined_with_a_table_is_published_into_another(
    served: Days, warehouse: Database
):
    expected = {"apple": (9, 3), "pear": (8, 2), "plum": (2, 1)}
    states = served.test("served", run_conf={"mode": "progressive"})
    assert set(states.values()) == {"success"}, states
    bases = {run: commit["base"] for run, commit in served.commits("served").items()}
    assert bases == {1: 0, 2: 1, 3: 2}
    assert served.result("served") == expected
    with closing(warehouse.session()) as session, session.cursor() as cursor:
        cursor.execute("SELECT item, revenue, n, ds FROM served")
        rows = {item: (int(revenue), n, ds) for item, revenue, n, ds in cursor.fetchall()}
    assert rows == {item: (*row, date.fromisoformat(DAY)) for item, row in expected.items()}
