"""Cost constants of the Spark engine, in millionths of a CPU second, each with its origin.

They only have to rank plans. Origin "TPC-H 10": solved by hand from executor CPU seconds of TPC-H
queries at scale 10 on Spark 4.1, local[2], 2026-11 (Q1 46 s, Q3 23 s, Q13 22 s, Q18 66 s) and of a
group-by of 30 M rows into 11.7 M groups (105 s). Origin "Lineitem": 34.8 M rows of lineitem at
scale 10, four columns read and filtered in 3.3 s, 18.7 M of them shuffled on three columns in 4.0 s
more and written to 32 buckets in another 3.9 s. Origin "Days": what 44 applications of days of 11
TPC-H queries at scale 10 took beside their executors (11.8 to 28.8 CPU seconds of the process tree,
1 to 3 stages, local[2], 2026-11), by non-negative least squares on 1, the stages and the executors'
seconds: 11.5 + 2.8 a stage + 0.17 a second, root mean square error 2.7, median error 10 %.
"""

from __future__ import annotations

SCAN_ROW = 0.04
"""Decode a row of Parquet, besides its bytes. Lineitem."""

SCAN_BYTE = 0.0015
"""Decode a byte of a column that is read. Lineitem."""

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

WRITE_ROW = 0.13
"""Encode a row of Parquet. Lineitem."""

WRITE_BYTE = 0.0035
"""Encode and compress a byte. Lineitem."""

SORT_ROW = 0.6
"""Sort a row globally. A guess."""

PARTIAL_TASKS = 8
"""Tasks that may each have rows of a group before they are moved. A guess: cores of a small job."""

RUN_START = 11_500_000.0
"""Open a run: start an application, its JVM and its session, and end it. Days."""

STAGE_START = 2_800_000.0
"""Plan a stage, generate and compile its code, start its jobs, commit its files. Days."""

BROADCAST_BYTES = 10 << 20
"""Spark's spark.sql.autoBroadcastJoinThreshold."""

CLEARLY = 0.99
"""Early work is done only if the estimate is below this share of batch, however sure it is (no
regret): prices are no more exact than this."""

CLEAREST = 0.85
"""Below this share of batch it is done however unsure the estimate is: the rest of the day is
planned again, so most of what can be lost is what the first run costs. A guess."""

SURE = 0.25
"""By how many standard deviations of its difference from batch early work has to be cheaper: it
then is in 3 cases of 5. More would lose more by what is not done than it saves; a guess that keeps
what `make bench-smoke` measured to be good."""

COUNTED_ERROR = 0.05
"""Standard deviations of logarithms, all guesses: of what was counted on another day; ..."""

ARRIVAL_ERROR = 0.25
"""... of what is still to come of a source, between two runs; ..."""

COLUMN_ERROR = 0.25
"""... of what a comparison of a column lets through, by its distinct values or bounds; ..."""

GUESS_ERROR = 1.0
"""... of what any other condition lets through; ..."""

PARTNERS_ERROR = 0.25
"""... of how many partners the rows of a join have; ..."""

GROUPS_ERROR = 0.5
"""... of how many groups there are; ..."""

TOUCHED_ERROR = 0.35
"""... of how many groups a delta touches: rows of a group may arrive together or apart."""
