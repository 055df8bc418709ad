"""Cost constants of the Spark engine, in millionths of a CPU second, each with its origin.

They only have to rank plans. Origin "TPC-H 10": solved by hand from executor CPU seconds of TPC-H
queries at scale 10 on Spark 4.1, local[2], 2026-11 (Q1 46 s, Q3 23 s, Q13 22 s, Q18 66 s) and of a
group-by of 30 M rows into 11.7 M groups (105 s). The ledger is to refit them.
"""

from __future__ import annotations

SCAN_ROW = 0.05
"""Decode a row of Parquet, besides its bytes. TPC-H 10."""

SCAN_BYTE = 0.003
"""Decode a byte of a column that is read. TPC-H 10."""

EXPRESSION_ROW = 0.03
"""Evaluate one scalar call on one row, generated code. TPC-H 10, Q1."""

PATTERN_ROW = 0.6
"""Match a LIKE or regular expression on one row. TPC-H 10, Q13."""

AGGREGATE_ROW = 0.15
"""Find the group of a row and update its state, besides expressions. TPC-H 10, Q1."""

GROUP = 0.5
"""Create, spill and emit a group. The group-by of 30 M rows."""

JOIN_ROW = 0.15
"""Sort or hash a row of a partitioned join and match it. TPC-H 10, Q3 and Q18."""

PROBE_ROW = 0.06
"""Look a row up in a broadcast table. TPC-H 10, Q3."""

BUILD_ROW = 0.2
"""Put a row into a hash table of a shuffled hash join. A guess."""

HASH_SIDE_BYTES = 256 << 20
"""A side of a join up to this size fits in memory even if one bucket gets all of it, so hashing it
is safe whatever the skew."""

OUTPUT_ROW = 0.05
"""Emit a joined row. A guess."""

EXCHANGE_ROW = 0.15
"""Serialize, hash, write and read back one row of a shuffle. TPC-H 10, Q18."""

EXCHANGE_BYTE = 0.002
"""The same per byte. TPC-H 10, Q18."""

WRITE_ROW = 0.25
"""Encode a row of Parquet, sorted by bucket. A guess, half of a shuffle and a sort."""

WRITE_BYTE = 0.004
"""Encode and compress a byte. A guess."""

SORT_ROW = 0.6
"""Sort a row globally. A guess."""

STAGE_SHARE = 0.15
"""Of what it costs to open a run: one more stage in it, a job with its code to generate, its tasks
and its files to commit. TPC-H 10, Q3: two stages more cost 2.5 and 2.9 s where their rows explain
half of it."""

BROADCAST_BYTES = 10 << 20
"""Spark's spark.sql.autoBroadcastJoinThreshold."""

CLEARLY = 0.97
"""Early work is done only if the estimate is below this share of batch (no regret)."""
