"""``forerun doctor --master sc://host:port``: what a Spark Connect server lacks to do runs.

A session is opened as for a run, and a few rows are written to the store and read back by it.
"""

from __future__ import annotations

import uuid
from contextlib import suppress

from forerun.doctors.findings import DoctorFinding
from forerun.include.engines import engine_spec
from forerun.include.stores.opening import open_store
from forerun.include.stores.store import Store
from forerun.planner.contract import ColumnSpec
from forerun.planner.errors import ForerunError
from forerun.spark_jobs.engine import Engine, start_engine
from forerun.spark_jobs.failures import explained

SCHEME = "sc://"
_FOLDER = "probe/connect"
_ROWS = 3
_COLUMNS = (ColumnSpec(name="id", type="BIGINT"),)


def examine_endpoint(address: str, store_uri: str) -> tuple[DoctorFinding, ...]:
    """Look at the server at ``address``, for reports whose store is at ``store_uri``."""
    try:
        with explained("opening a session"):
            engine = start_engine(engine_spec("connect"), master=address, name="forerun doctor")
    except ForerunError as error:
        return (_problem("connect", error),)
    try:
        with explained("the probe of the server"):
            version = engine.session.version
            found = f"Spark {version}, as here; families have no buckets, and CPU is not told"
            answers = DoctorFinding(name="connect", state="ok", found=found)
            return (answers, _store(engine, store_uri))
    except ForerunError as error:
        return (_problem("connect-store", error),)
    finally:
        engine.stop()


def _store(engine: Engine, store_uri: str) -> DoctorFinding:
    """Return whether the server writes where this process reads, and reads what it wrote."""
    store = open_store(store_uri)
    key = f"{_FOLDER}/{uuid.uuid4().hex}"
    try:
        rows = engine.session.sql(f"SELECT id FROM range({_ROWS})")
        engine.write_result(rows, store.uri(key), ordered=False)
        files = [f.key for f in store.list(f"{key}/") if f.key.endswith(".parquet")]
        if not files:
            return DoctorFinding(
                name="connect-store",
                state="problem",
                found="what the server writes to the store is not there for this process",
                todo="Use a store on S3, or a folder that both machines have at the same path.",
            )
        read = engine.read([store.uri(file) for file in files], _COLUMNS).count()
        if read != _ROWS:
            return DoctorFinding(
                name="connect-store",
                state="problem",
                found=f"the server wrote {_ROWS} rows to the store and read {read}",
                todo="Let the server's user read what it writes to the store.",
            )
        return DoctorFinding(
            name="connect-store", state="ok", found="the server writes it and reads it"
        )
    finally:
        _remove(store, key)


def _remove(store: Store, key: str) -> None:
    with suppress(ForerunError):  # what is left over there is small, and named "probe"
        for file in store.list(f"{key}/"):
            store.delete(file.key)


def _problem(name: str, error: ForerunError) -> DoctorFinding:
    return DoctorFinding(name=name, state="problem", found=error.message, todo=error.hint)
