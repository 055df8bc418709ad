-- Runs of orders of a customer that follow one another within ninety days.
WITH marked AS (
  SELECT o_custkey, o_orderdate, o_totalprice,
    CASE WHEN datediff(o_orderdate, lag(o_orderdate) OVER (PARTITION BY o_custkey ORDER BY o_orderdate)) > 90
      THEN 1 ELSE 0 END AS begins
  FROM orders
), numbered AS (
  SELECT *, sum(begins) OVER (PARTITION BY o_custkey ORDER BY o_orderdate) AS series
  FROM marked
)
SELECT o_custkey, series, count(*) AS orders, min(o_orderdate) AS began, max(o_orderdate) AS ended,
  sum(o_totalprice) AS spent
FROM numbered
GROUP BY o_custkey, series
