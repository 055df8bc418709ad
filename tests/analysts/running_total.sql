-- What a customer has spent up to each order.
SELECT o_custkey, o_orderkey, o_totalprice,
  sum(o_totalprice) OVER (
    PARTITION BY o_custkey ORDER BY o_orderdate, o_orderkey ROWS UNBOUNDED PRECEDING
  ) AS spent
FROM orders
