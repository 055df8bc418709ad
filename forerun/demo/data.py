"""The demo's data: orders, their lines, customers and returns, arriving in three deliveries."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forerun.planner.errors import ForerunError
from forerun.simulation.deliveries import Correlation, Splitter
from forerun.simulation.tables import Table, find_tables

TABLES = ("customer", "orders", "lineitem", "returns")
ARRIVED = (0.58, 0.79, 1.0)
_SEED = 20_260_101


class GeneratorError(ForerunError):
    """The TPC-H generator is missing or failed."""

    code = "generator"


def generate(folder: Path, scale: float, tables: tuple[str, ...]) -> None:
    """Write TPC-H tables as ``folder/<table>.parquet``; those that are there stay."""
    wanted = [t for t in tables if not (folder / f"{t}.parquet").is_file()]
    if not wanted:
        return
    program = Path(sys.prefix) / "bin" / "tpchgen-cli"
    folder.mkdir(parents=True, exist_ok=True)
    command = [str(program), "parquet", "--scale-factor", f"{scale:g}"]
    command += ["--output-dir", str(folder), "--tables", ",".join(wanted), "--quiet"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise GeneratorError(
            "the TPC-H generator tpchgen-cli is not installed",
            hint="Run `pip install tpchgen-cli` (in a checkout: `make setup`).",
        ) from None
    if done.returncode:
        raise GeneratorError(
            f"the TPC-H generator failed: {done.stderr.strip()[-300:]}",
            hint=f"Is there room on the disk of {folder}?",
        )


def generate_day(folder: Path, scale: float) -> dict[str, Table]:
    """The whole tables of the demo, returns derived from the lines that TPC-H marks as such."""
    generate(folder, scale, ("customer", "orders", "lineitem"))
    returns = folder / "returns.parquet"
    if not returns.is_file():
        pq.write_table(derive_returns(folder / "lineitem.parquet"), returns)
    tables = find_tables(folder)
    return {name: tables[name] for name in TABLES}


def derive_returns(lineitem: Path) -> pa.Table:
    """The lines that were returned, with what a return costs: a tenth of the price."""
    columns = ["l_orderkey", "l_linenumber", "l_extendedprice", "l_returnflag"]
    lines = pq.read_table(lineitem, columns=columns)
    returned = pc.equal(lines["l_returnflag"].cast(pa.string()), "R")
    lines = lines.drop_columns(["l_returnflag"]).filter(returned)
    price = lines["l_extendedprice"]
    cost = pc.round(pc.multiply(price, pa.scalar(Decimal("0.10"))), 2)
    return pa.table({
        "r_orderkey": lines["l_orderkey"],
        "r_linenumber": lines["l_linenumber"],
        "r_cost": cost.cast(pa.decimal128(15, 2)),
    })  # fmt: skip


def split_day(
    tables: dict[str, Table], folder: Path, progress: Callable[[int], None] | None = None
) -> None:
    """Cut the tables into ``folder/<table>/run-<i>.parquet``. Lines come with their orders;
    customers and returns when they please."""
    together = [Correlation("lineitem", "l_orderkey", "orders", "o_orderkey")]
    splitter = Splitter(tables, ARRIVED, _SEED, together)
    for name in tables:
        if not (folder / name).is_dir():
            splitter.write(name, folder / name, progress)
