-- Gross revenue by ship mode, sales consolidated with the returns that came in
-- (the report of the Tempura paper, example 1).
WITH sales_status AS (
  SELECT
    l.l_shipmode AS category,
    l.l_extendedprice * (1 - l.l_discount) AS price,
    r.r_cost AS cost
  FROM lineitem l
  LEFT OUTER JOIN returns r
    ON l.l_orderkey = r.r_orderkey AND l.l_linenumber = r.r_linenumber
)
SELECT
  category,
  SUM(IF(cost IS NULL, price, -cost)) AS gross,
  COUNT(*) AS sales,
  COUNT(cost) AS returned
FROM sales_status
GROUP BY category
