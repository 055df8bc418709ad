"""Queries over two and three tables that grow, with what waits for the final run above of it: there
what was kept and what comes now stand as arms of one UNION ALL below a window, a limit, a set
operation or a subquery.
"""

from __future__ import annotations

from forerun.planner.algebra.types import parse_type
from forerun.planner.request import Source, SourceColumn


def _source(table: str, rows: int, key: str, **columns: str) -> Source:
    return Source(
        name=table,
        changing=True,
        rows=rows,
        bytes=50 * rows,
        keys=((key,),),
        columns=tuple(SourceColumn(name=n, type=parse_type(t)) for n, t in columns.items()),
    )


ORDERS = _source(
    "orders", 1_500_000, "id", id="BIGINT", customer="BIGINT", price="DECIMAL(12,2)", day="DATE"
)
CUSTOMER = _source(
    "customer", 150_000, "c", c="BIGINT", nation="BIGINT", balance="DECIMAL(12,2)", name="STRING"
)
NATION = _source("nation", 25, "n", n="BIGINT", title="STRING")
_JOINED = "orders JOIN customer ON customer = c"
QUERIES = {
    "top-three": "SELECT * FROM (SELECT nation, id, price, row_number() OVER (PARTITION BY nation "
    f"ORDER BY price DESC, id) AS rn FROM {_JOINED}) t WHERE rn <= 3",
    "share": "SELECT nation, id, price / sum(price) OVER (PARTITION BY nation) AS share "
    f"FROM {_JOINED}",
    "two-windows": "SELECT id, rank() OVER (PARTITION BY nation ORDER BY price) AS r, lag(price) "
    f"OVER (PARTITION BY customer ORDER BY day, id) AS l FROM {_JOINED}",
    "window-of-sums": "SELECT nation, s, rank() OVER (ORDER BY s DESC) AS r FROM (SELECT nation, "
    f"sum(price) AS s FROM {_JOINED} GROUP BY nation) g",
    "window-of-window": "SELECT *, max(rn) OVER (PARTITION BY title) AS m FROM (SELECT title, id, "
    "row_number() OVER (PARTITION BY nation ORDER BY id) AS rn FROM orders JOIN customer ON "
    "customer = c JOIN nation ON nation = n) t",
    "left-window": "SELECT c, name, row_number() OVER (PARTITION BY nation ORDER BY price DESC, id)"
    " AS rn FROM customer LEFT JOIN orders ON customer = c",
    "limit": f"SELECT id, name, price FROM {_JOINED} ORDER BY price DESC, id LIMIT 10",
    "limit-joined": "SELECT t.id, title FROM (SELECT id, nation FROM orders JOIN customer ON "
    "customer = c ORDER BY price DESC, id LIMIT 10) t JOIN nation ON nation = n",
    "union-window": "SELECT k, row_number() OVER (PARTITION BY k ORDER BY v) AS rn FROM (SELECT "
    f"nation AS k, price AS v FROM {_JOINED} UNION ALL SELECT nation, balance FROM customer) u",
    "except": f"SELECT nation, customer FROM {_JOINED} EXCEPT ALL SELECT nation, c FROM customer",
    "intersect": f"SELECT nation FROM {_JOINED} INTERSECT SELECT n FROM nation",
    "not-exists-window": "SELECT c, row_number() OVER (ORDER BY balance, c) AS rn FROM customer "
    "WHERE NOT EXISTS (SELECT 1 FROM orders WHERE customer = c)",
    "scalar": "SELECT c, (SELECT max(price) FROM orders WHERE customer = c) AS m, dense_rank() "
    "OVER (PARTITION BY nation ORDER BY balance) AS r FROM customer",
    "twice": "WITH j AS (SELECT nation, id, price FROM orders JOIN customer ON customer = c) "
    "SELECT a.id, b.id AS other, row_number() OVER (PARTITION BY a.nation ORDER BY a.id) AS rn "
    "FROM j a JOIN j b ON a.nation = b.nation AND a.price < b.price",
    "distinct-window": "SELECT DISTINCT nation, count(*) OVER (PARTITION BY nation) AS n "
    f"FROM {_JOINED}",
    "quantile": f"SELECT nation, percentile(price, 0.5) AS p FROM {_JOINED} GROUP BY nation",
    "grouping-sets": "SELECT nation, day, count(DISTINCT customer) AS n FROM "
    f"{_JOINED} GROUP BY ROLLUP (nation, day)",
    "full": "SELECT c, id, count(*) OVER (PARTITION BY nation) AS n FROM customer FULL JOIN orders "
    "ON customer = c",
}
"""By name."""
