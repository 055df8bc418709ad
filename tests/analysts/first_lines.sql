-- Of each part and supplier, the line with the best price that was shipped first.
SELECT l_partkey, l_suppkey, l_orderkey, l_linenumber, l_extendedprice, l_shipdate
FROM (
  SELECT *, row_number() OVER (
    PARTITION BY l_partkey, l_suppkey
    ORDER BY l_extendedprice / l_quantity, l_shipdate, l_orderkey, l_linenumber
  ) AS n
  FROM lineitem
)
WHERE n = 1
