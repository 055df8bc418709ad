-- What the latest orders of customers come to, by their segment.
WITH latest AS (
  SELECT o_custkey, o_totalprice
  FROM (
    SELECT *, row_number() OVER (PARTITION BY o_custkey ORDER BY o_orderdate DESC, o_orderkey DESC) AS n
    FROM orders
  )
  WHERE n = 1
)
SELECT c_mktsegment, count(*) AS customers, sum(o_totalprice) AS total
FROM latest JOIN customer ON o_custkey = c_custkey
GROUP BY c_mktsegment
