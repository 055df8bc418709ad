"""Reports of the kind that analysts write, as days on the small engine: equal to batch.

The constructs are those that make TPC-DS hard (grouping sets, windows over aggregates, one CTE used
many times, set operations, EXISTS under OR, subqueries in CASE, full outer joins), over the tables
of TPC-H. ``test_simulate_tpcds.py`` runs the public queries themselves.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forerun.cli.app import run
from tests.selection import few

REPORTS = {
    "levels ranked within their parent": """
        SELECT c_mktsegment, n_name, grouping(c_mktsegment) + grouping(n_name) AS level,
               sum(l_extendedprice * (1 - l_discount)) / sum(l_quantity) AS price,
               rank() OVER (PARTITION BY grouping(c_mktsegment) + grouping(n_name),
                                CASE WHEN grouping(n_name) = 0 THEN c_mktsegment END
                            ORDER BY sum(l_quantity) DESC) AS place
        FROM lineitem, orders, customer, nation
        WHERE l_orderkey = o_orderkey AND o_custkey = c_custkey AND c_nationkey = n_nationkey
          AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1995-01-01' + INTERVAL 90 DAYS
        GROUP BY ROLLUP (c_mktsegment, n_name)
        ORDER BY level DESC, CASE WHEN level = 0 THEN c_mktsegment END, place
        LIMIT 100""",
    "channels with what came back, rolled up": """
        WITH sold AS (
            SELECT o_orderpriority AS id, l_extendedprice AS sales, cast(0 AS DECIMAL(15,2)) AS back
            FROM lineitem, orders WHERE l_orderkey = o_orderkey
            UNION ALL
            SELECT o_orderpriority, cast(0 AS DECIMAL(15,2)), l_extendedprice
            FROM lineitem LEFT JOIN orders ON l_orderkey = o_orderkey WHERE l_returnflag = 'R')
        SELECT channel, id, sum(sales) AS sales, sum(back) AS back, sum(profit) AS profit
        FROM (SELECT 'lines' AS channel, 'P' || id AS id, sum(sales) AS sales, sum(back) AS back,
                     sum(sales) - sum(back) AS profit FROM sold GROUP BY id
              UNION ALL
              SELECT 'parts', 'S' || ps_suppkey, sum(ps_supplycost), 0, sum(ps_supplycost * 2)
              FROM partsupp GROUP BY ps_suppkey HAVING count(*) > 70) x
        GROUP BY ROLLUP (channel, id)""",
    "customers of all of some months, and of only one": """
        SELECT count(*) AS n, sum(only_one) AS only_one FROM (
            (SELECT o_custkey, 0 AS only_one FROM orders WHERE month(o_orderdate) = 1
             INTERSECT
             SELECT o_custkey, 0 FROM orders WHERE month(o_orderdate) = 2
             INTERSECT
             SELECT o_custkey, 0 FROM orders WHERE month(o_orderdate) = 3)
            UNION ALL
            (SELECT o_custkey, 1 FROM orders WHERE o_orderpriority = '1-URGENT'
             EXCEPT
             SELECT o_custkey, 1 FROM orders WHERE o_orderpriority = '5-LOW')) hot""",
    "growth of one channel faster than of the other": """
        WITH totals AS (
            SELECT c_custkey AS id, c_name AS name, year(o_orderdate) AS year,
                   sum(o_totalprice) AS total, 'o' AS kind
            FROM customer, orders WHERE c_custkey = o_custkey
            GROUP BY c_custkey, c_name, year(o_orderdate)
            UNION ALL
            SELECT c_custkey, c_name, year(l_shipdate), sum(l_extendedprice), 'l'
            FROM customer, orders, lineitem WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey
            GROUP BY c_custkey, c_name, year(l_shipdate))
        SELECT l2.id, l2.name
        FROM totals o1, totals o2, totals l1, totals l2
        WHERE o2.id = o1.id AND l1.id = o1.id AND l2.id = o1.id
          AND o1.kind = 'o' AND o2.kind = 'o' AND l1.kind = 'l' AND l2.kind = 'l'
          AND o1.year = 1994 AND o2.year = 1995 AND l1.year = 1994 AND l2.year = 1995
          AND o1.total > 0 AND l1.total > 0
          AND CASE WHEN o1.total > 0 THEN o2.total / o1.total END
            > CASE WHEN l1.total > 0 THEN l2.total / l1.total END""",
    "either of two kinds of activity": """
        SELECT c_mktsegment, count(*) AS n, min(c_acctbal) AS lo, max(c_acctbal) AS hi,
               avg(c_acctbal) AS mean
        FROM customer c, nation WHERE c_nationkey = n_nationkey AND n_name < 'M'
          AND (EXISTS (SELECT * FROM orders WHERE o_custkey = c.c_custkey AND o_orderstatus = 'P')
               OR EXISTS (SELECT * FROM orders, lineitem WHERE o_custkey = c.c_custkey
                          AND l_orderkey = o_orderkey AND l_shipmode = 'AIR' AND l_quantity > 49))
        GROUP BY c_mktsegment ORDER BY c_mktsegment""",
    "running totals of two channels side by side": """
        WITH sold AS (
            SELECT o_custkey AS k, o_orderdate AS d,
                   sum(sum(o_totalprice)) OVER (PARTITION BY o_custkey ORDER BY o_orderdate
                       ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS total
            FROM orders WHERE o_orderstatus = 'O' GROUP BY o_custkey, o_orderdate),
        done AS (
            SELECT o_custkey AS k, o_orderdate AS d,
                   sum(sum(o_totalprice)) OVER (PARTITION BY o_custkey ORDER BY o_orderdate
                       ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS total
            FROM orders WHERE o_orderstatus = 'F' GROUP BY o_custkey, o_orderdate)
        SELECT * FROM (
            SELECT coalesce(sold.k, done.k) AS k, coalesce(sold.d, done.d) AS d,
                   max(sold.total) OVER (PARTITION BY coalesce(sold.k, done.k)
                       ORDER BY coalesce(sold.d, done.d)
                       ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS sold,
                   max(done.total) OVER (PARTITION BY coalesce(sold.k, done.k)
                       ORDER BY coalesce(sold.d, done.d)
                       ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS done
            FROM sold FULL OUTER JOIN done ON sold.k = done.k AND sold.d = done.d) y
        WHERE sold > done ORDER BY k, d LIMIT 100""",
    "best customers of often bought parts": """
        WITH often AS (
            SELECT l_partkey AS part, count(*) AS n FROM lineitem GROUP BY l_partkey
            HAVING count(*) > 36),
        most AS (
            SELECT max(total) AS highest FROM (
                SELECT o_custkey, sum(l_quantity * l_extendedprice) AS total
                FROM lineitem, orders WHERE l_orderkey = o_orderkey GROUP BY o_custkey)),
        best AS (
            SELECT o_custkey AS k, sum(l_quantity * l_extendedprice) AS total
            FROM lineitem, orders WHERE l_orderkey = o_orderkey GROUP BY o_custkey
            HAVING sum(l_quantity * l_extendedprice) > 0.5 * (SELECT highest FROM most))
        SELECT sum(x) AS total FROM (
            SELECT l_quantity * l_extendedprice AS x FROM lineitem, orders
            WHERE l_orderkey = o_orderkey AND l_partkey IN (SELECT part FROM often)
              AND o_custkey IN (SELECT k FROM best)
            UNION ALL
            SELECT o_totalprice FROM orders WHERE o_custkey IN (SELECT k FROM best)
              AND o_orderkey IN (SELECT l_orderkey FROM lineitem, often WHERE l_partkey = part))""",
    "orders of several suppliers that nobody sent back": """
        SELECT count(DISTINCT o.l_orderkey) AS orders, sum(o.l_extendedprice) AS cost,
               sum(o.l_tax) AS tax
        FROM lineitem o, supplier
        WHERE o.l_suppkey = s_suppkey AND s_acctbal > 0
          AND o.l_shipdate BETWEEN DATE '1996-02-01' AND DATE '1996-02-01' + INTERVAL 60 DAYS
          AND EXISTS (SELECT * FROM lineitem p
                      WHERE p.l_orderkey = o.l_orderkey AND p.l_suppkey <> o.l_suppkey)
          AND NOT EXISTS (SELECT * FROM lineitem r
                          WHERE r.l_orderkey = o.l_orderkey AND r.l_returnflag = 'R')""",
    "buckets by subqueries, and cheaper than the rest": """
        SELECT CASE WHEN (SELECT count(*) FROM lineitem WHERE l_quantity BETWEEN 1 AND 20) > 20000
                    THEN (SELECT avg(l_extendedprice) FROM lineitem WHERE l_quantity <= 20)
                    ELSE (SELECT avg(l_tax) FROM lineitem WHERE l_quantity <= 20) END AS bucket,
               i.ps_partkey AS part, i.ps_supplycost AS cost
        FROM partsupp i
        WHERE i.ps_supplycost > 1.7 * (SELECT avg(j.ps_supplycost) FROM partsupp j
                                       WHERE j.ps_partkey = i.ps_partkey)
          AND i.ps_availqty > (SELECT DISTINCT ps_availqty FROM partsupp
                               WHERE ps_partkey = 1 AND ps_suppkey = 2) + 1""",
    "months that stray from the average of their year": """
        WITH v AS (
            SELECT o_orderpriority AS p, year(o_orderdate) AS y, month(o_orderdate) AS m,
                   sum(o_totalprice) AS total,
                   avg(sum(o_totalprice)) OVER (PARTITION BY o_orderpriority, year(o_orderdate))
                       AS mean,
                   rank() OVER (PARTITION BY o_orderpriority
                                ORDER BY year(o_orderdate), month(o_orderdate)) AS rn
            FROM orders GROUP BY o_orderpriority, year(o_orderdate), month(o_orderdate))
        SELECT v.p, v.y, v.m, v.total, b.total AS before, a.total AS after
        FROM v, v b, v a
        WHERE v.p = b.p AND v.p = a.p AND v.rn = b.rn + 1 AND v.rn = a.rn - 1 AND v.mean > 0
          AND CASE WHEN v.mean > 0 THEN abs(v.total - v.mean) / v.mean END > 0.1
        ORDER BY v.total - v.mean, v.p, v.y, v.m LIMIT 100""",
}


@pytest.mark.parametrize("name", few(REPORTS, 2))
def test_the_day_gives_the_batch_result(
    name: str, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORERUN_HOME", str(tmp_path))
    report, target = tmp_path / "report.sql", tmp_path / "day.json"
    report.write_text(REPORTS[name])
    arguments = ["simulate", str(report), "--tables", str(tables), "--json", str(target)]
    arguments += ["--engine", "sail", "--method", "progressive"]
    arguments += ["--correlate", "lineitem.l_orderkey=orders.o_orderkey"]
    arguments += ["--changing", "orders,lineitem,customer,partsupp"]
    assert run(arguments) == 0
    day = json.loads(target.read_text())
    assert day["equal"]
    assert day["differences"] == []
    assert day["rows"] > 0
    assert not any(r["skipped"] for r in day["runs"])
