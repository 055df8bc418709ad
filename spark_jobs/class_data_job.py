"""A small Spark job that loads the classes a run of Forerun loads, while the JVM records them.

What it computes is of no interest; that it touches the same code paths is: Parquet scan of listed
files with a declared schema, joins of every kind, aggregates, windows, order and limit, a bucketed
and partitioned table without a metastore, written and read back.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

_QUERIES = (
    "SELECT k % 7, count(*), sum(d), avg(x), min(s) FROM a GROUP BY k % 7 HAVING sum(d) > 0",
    "SELECT k % 5 AS g, count(DISTINCT s) AS n FROM a GROUP BY k % 5 ORDER BY n DESC, g LIMIT 3",
    "SELECT a.k, b.x FROM a LEFT JOIN b ON a.k = b.k AND b.x > 10 WHERE a.t < DATE '2024-02-01'",
    "SELECT count(*) FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    "SELECT count(*) FROM a WHERE k IN (SELECT k FROM b WHERE x > 3) AND s LIKE 'v%'",
    "SELECT k, row_number() OVER (PARTITION BY k % 3 ORDER BY x DESC) AS r FROM a",
    "SELECT k, sum(d) FROM (SELECT k, d FROM a UNION ALL SELECT k, d FROM b) GROUP BY k",
    "SELECT CASE WHEN x > 5 THEN upper(s) ELSE substring(s, 1, 2) END, CAST(d AS STRING) FROM a",
)


def main(root: str) -> None:
    spark = SparkSession.builder.appName("class data").getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    rows = spark.range(2000).selectExpr(
        "id % 100 AS k",
        "CAST(id AS DECIMAL(12, 2)) AS d",
        "CAST(id AS DOUBLE) AS x",
        "concat('v', id % 10) AS s",
        "date_add(DATE '2024-01-01', CAST(id % 60 AS INT)) AS t",
    )
    for name in ("a", "b"):
        rows.write.mode("overwrite").parquet(f"{root}/{name}")
        table = spark.read.schema(rows.schema).parquet(f"{root}/{name}")
        table.createOrReplaceTempView(name)
    for query in _QUERIES:
        spark.sql(query).collect()
    for name in ("f", "h"):
        _family(spark, root, name)
    spark.sql(
        "SELECT f.k, sum(h.d) FROM f JOIN h ON f.k = h.k WHERE f.__run < 2 GROUP BY f.k"
    ).collect()
    spark.sql("SELECT count(*) FROM f LEFT ANTI JOIN h ON f.k = h.k").collect()
    result = spark.sql("SELECT * FROM a ORDER BY x LIMIT 20")
    result.write.mode("overwrite").parquet(f"{root}/result")
    spark.stop()


def _family(spark: SparkSession, root: str, name: str) -> None:
    """One partition of an artifact family, written as a bucketed table, registered, read."""
    writer = spark.table("a").repartition(4, "k").write.mode("overwrite").format("parquet")
    path = f"{root}/{name}/1"
    writer.bucketBy(4, "k").sortBy("k").option("path", path).saveAsTable(f"{name}_written")
    spark.sql(
        f"CREATE TABLE {name} (k BIGINT, d DECIMAL(12, 2), x DOUBLE, s STRING, t DATE, __run INT) "
        f"USING parquet PARTITIONED BY (__run) CLUSTERED BY (k) SORTED BY (k) INTO 4 BUCKETS "
        f"LOCATION '{root}/{name}/empty'"
    )
    spark.sql(f"ALTER TABLE {name} ADD PARTITION (__run = 1) LOCATION '{path}'")
    spark.sql(f"SELECT k, count(*), sum(d) FROM {name} GROUP BY k").collect()


if __name__ == "__main__":
    main(sys.argv[1])
