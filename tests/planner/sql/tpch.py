"""TPC-H: schemas, the 22 query texts, and a few generated rows per table that the queries select.

The rows are made so that most queries have a result at this size; they are no TPC-H data set.
"""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

from forerun.planner.algebra.types import parse_type
from forerun.planner.request import Source, SourceColumn

TEXTS = sorted((Path(__file__).parents[2] / "tpch").glob("q*.sql"))
_MONEY = "decimal(15,2)"
COLUMNS: dict[str, tuple[tuple[str, str], ...]] = {
    "region": (("r_regionkey", "bigint"), ("r_name", "string"), ("r_comment", "string")),
    "nation": (
        ("n_nationkey", "bigint"), ("n_name", "string"), ("n_regionkey", "bigint"),
        ("n_comment", "string"),
    ),
    "supplier": (
        ("s_suppkey", "bigint"), ("s_name", "string"), ("s_address", "string"),
        ("s_nationkey", "bigint"), ("s_phone", "string"), ("s_acctbal", _MONEY),
        ("s_comment", "string"),
    ),
    "customer": (
        ("c_custkey", "bigint"), ("c_name", "string"), ("c_address", "string"),
        ("c_nationkey", "bigint"), ("c_phone", "string"), ("c_acctbal", _MONEY),
        ("c_mktsegment", "string"), ("c_comment", "string"),
    ),
    "part": (
        ("p_partkey", "bigint"), ("p_name", "string"), ("p_mfgr", "string"), ("p_brand", "string"),
        ("p_type", "string"), ("p_size", "int"), ("p_container", "string"),
        ("p_retailprice", _MONEY), ("p_comment", "string"),
    ),
    "partsupp": (
        ("ps_partkey", "bigint"), ("ps_suppkey", "bigint"), ("ps_availqty", "int"),
        ("ps_supplycost", _MONEY), ("ps_comment", "string"),
    ),
    "orders": (
        ("o_orderkey", "bigint"), ("o_custkey", "bigint"), ("o_orderstatus", "string"),
        ("o_totalprice", _MONEY), ("o_orderdate", "date"), ("o_orderpriority", "string"),
        ("o_clerk", "string"), ("o_shippriority", "int"), ("o_comment", "string"),
    ),
    "lineitem": (
        ("l_orderkey", "bigint"), ("l_partkey", "bigint"), ("l_suppkey", "bigint"),
        ("l_linenumber", "int"), ("l_quantity", _MONEY), ("l_extendedprice", _MONEY),
        ("l_discount", _MONEY), ("l_tax", _MONEY), ("l_returnflag", "string"),
        ("l_linestatus", "string"), ("l_shipdate", "date"), ("l_commitdate", "date"),
        ("l_receiptdate", "date"), ("l_shipinstruct", "string"), ("l_shipmode", "string"),
        ("l_comment", "string"),
    ),
}  # fmt: skip
SOURCES = tuple(
    Source(name=name, columns=tuple(SourceColumn(name=n, type=parse_type(t)) for n, t in columns))
    for name, columns in COLUMNS.items()
)
_REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
_NATIONS = (
    ("FRANCE", 3), ("GERMANY", 3), ("BRAZIL", 1), ("CANADA", 1), ("INDIA", 2), ("CHINA", 2),
    ("SAUDI ARABIA", 4), ("EGYPT", 4), ("KENYA", 0), ("PERU", 1),
)  # fmt: skip
_PARTS = (
    ("Brand#12", "ECONOMY ANODIZED STEEL", "SM BOX"), ("Brand#23", "PROMO PLATED BRASS", "MED BOX"),
    ("Brand#34", "LARGE BURNISHED BRASS", "LG BOX"), ("Brand#45", "MEDIUM POLISHED TIN", "SM PKG"),
)  # fmt: skip


def rows(seed: int = 7) -> dict[str, list[tuple[Any, ...]]]:
    """The tables' rows, the same for the same seed."""
    return _Generator(random.Random(seed)).tables()


class _Generator:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def money(self, low: int, high: int) -> Decimal:
        return Decimal(self.rng.randrange(low * 100, high * 100)).scaleb(-2)

    def day(self, first: int, last: int) -> dt.date:
        start = dt.date(first, 1, 1)
        return start + dt.timedelta(days=self.rng.randrange(365 * (last - first + 1)))

    def phone(self) -> str:
        return f"{self.rng.choice((13, 31, 23, 29, 40, 18))}-{self.rng.randrange(1000):03}"

    def tables(self) -> dict[str, list[tuple[Any, ...]]]:
        rng = self.rng
        nations = range(len(_NATIONS))
        return {
            "region": [(i, name, "r") for i, name in enumerate(_REGIONS)],
            "nation": [(i, name, region, "n") for i, (name, region) in enumerate(_NATIONS)],
            "supplier": [
                (i, f"Supplier#{i}", f"street {i}", rng.choice(nations), self.phone(),
                 self.money(-900, 9000), rng.choice(("fine", "Customer slow Complaints")))
                for i in range(24)
            ],
            "customer": [
                (i, f"Customer#{i}", f"road {i}", rng.choice(nations), self.phone(),
                 self.money(-900, 9000), rng.choice(("BUILDING", "MACHINERY")), "c")
                for i in range(40)
            ],
            "part": [self.part(i) for i in range(40)],
            "partsupp": [
                (part, supplier, rng.randrange(1, 500), self.money(1, 100), "ps")
                for part in range(40) for supplier in rng.sample(range(24), 4)
            ],
            "orders": [
                (i, rng.randrange(30), rng.choice("FOP"), self.money(1000, 90000),
                 self.day(1993, 1997), rng.choice(("1-URGENT", "2-HIGH", "3-MEDIUM")), "clerk", 0,
                 rng.choice(("plain", "special big requests")))
                for i in range(150)
            ],
            "lineitem": [self.line(order, line) for order in range(150) for line in range(7)],
        }  # fmt: skip

    def part(self, i: int) -> tuple[Any, ...]:
        brand, type_, container = self.rng.choice(_PARTS)
        name = self.rng.choice(("green forest", "forest blue", "red"))
        size = self.rng.choice((15, 1, 3, 9))
        return (i, name, "mfgr", brand, type_, size, container, self.money(900, 1900), "p")

    def line(self, order: int, line: int) -> tuple[Any, ...]:
        rng = self.rng
        ship = self.day(1993, 1997)
        commit = ship + dt.timedelta(days=rng.randrange(-20, 40))
        receipt = ship + dt.timedelta(days=rng.randrange(1, 60))
        many = order % 40 == 0
        return (
            order, rng.randrange(40), rng.randrange(24), line,
            self.money(45, 51) if many else self.money(1, 40),
            self.money(900, 9000), Decimal(rng.randrange(0, 10)).scaleb(-2),
            Decimal(rng.randrange(0, 8)).scaleb(-2), rng.choice("RAN"), rng.choice("OF"),
            ship, commit, receipt, rng.choice(("DELIVER IN PERSON", "NONE")),
            rng.choice(("AIR", "AIR REG", "MAIL", "SHIP")), "l",
        )  # fmt: skip
