SELECT item, sum(amount) AS revenue, count(*) AS n FROM sales GROUP BY item
