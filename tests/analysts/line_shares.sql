-- The place of each line in its order, and its share of it.
SELECT o_orderpriority, l_orderkey, l_linenumber, l_extendedprice,
  row_number() OVER (PARTITION BY l_orderkey ORDER BY l_extendedprice DESC, l_linenumber) AS place,
  l_extendedprice / sum(l_extendedprice) OVER (PARTITION BY l_orderkey) AS share
FROM lineitem JOIN orders ON l_orderkey = o_orderkey
