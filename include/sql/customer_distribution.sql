-- How many customers have how many orders, those without any included.
SELECT
  c_count,
  COUNT(*) AS customers
FROM (
  SELECT
    c.c_custkey,
    COUNT(o.o_orderkey) AS c_count
  FROM customer c
  LEFT OUTER JOIN orders o
    ON o.o_custkey = c.c_custkey AND o.o_comment NOT LIKE '%special%requests%'
  GROUP BY c.c_custkey
) AS c_orders
GROUP BY c_count
ORDER BY customers DESC, c_count DESC
