-- How often each word stands in the comments of a way of shipping, and what is sold under it.
SELECT l_shipmode, word, count(*) AS times, sum(l_extendedprice) AS sold, max(l_shipdate) AS latest
FROM lineitem LATERAL VIEW explode(split(l_comment, ' ')) AS word
WHERE length(word) > 3
GROUP BY l_shipmode, word
