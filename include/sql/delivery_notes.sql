-- What the notes on order lines are about, by ship mode and month: six million texts, each searched
-- for six subjects.
SELECT
  l_shipmode AS mode,
  DATE_TRUNC('MONTH', l_shipdate) AS month,
  COUNT(*) AS notes,
  COUNT_IF(l_comment RLIKE '(express|special).*(request|package|deposit)') AS asks,
  COUNT_IF(l_comment RLIKE '(slow|late|sly|careful).*(account|pack|instruction|depend)') AS trouble,
  COUNT_IF(l_comment RLIKE '^(quick|furious|blithe)ly .* (sleep|nag|haggle|wake)') AS praise,
  COUNT_IF(l_comment RLIKE '(pack|packages|parcels?) .*(across|above|along|among)') AS packing,
  COUNT_IF(l_comment RLIKE '(final|pending|unusual) (theodolite|foxe|platelet|pinto)s?') AS goods,
  COUNT_IF(l_comment RLIKE '(regular|ironic|even|bold) (account|deposit|asymptote)s? .*[a-z]+ly') AS paying
FROM lineitem
GROUP BY l_shipmode, DATE_TRUNC('MONTH', l_shipdate)
