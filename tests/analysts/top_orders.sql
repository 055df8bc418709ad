-- The ten largest orders of each priority.
SELECT o_orderpriority, o_orderkey, o_totalprice, place
FROM (
  SELECT *, rank() OVER (PARTITION BY o_orderpriority ORDER BY o_totalprice DESC) AS place
  FROM orders
)
WHERE place <= 10
