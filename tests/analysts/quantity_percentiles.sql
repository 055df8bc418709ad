-- What quantities suppliers send: medians and other places among them.
SELECT l_suppkey, median(l_quantity) AS usual,
  percentile_cont(0.9) WITHIN GROUP (ORDER BY l_quantity) AS large,
  percentile_disc(0.1) WITHIN GROUP (ORDER BY l_quantity) AS small,
  mode() WITHIN GROUP (ORDER BY l_quantity) AS most
FROM lineitem
GROUP BY l_suppkey
