"""Cost constants of the Spark engine, in millionths of a CPU second, each with its origin.

They only have to rank plans; what they add up to is CPU of whole processes. Origin "Fitted": by
:mod:`forerun.planner.cost.calibration` from the constants before them to 54 runs, all that read
nothing kept: the user's own text and first runs of TPC-H's queries at scale 3, of Q3, Q5 and Q18 at
scale 10, and of the demo's reports at scale 3 (Spark 4.1, local[2], 2026-11, beside other work).
Median error 8 %, 9 % of reports that they were not fitted to; rank correlation 0.95 and 0.94. (The
constants before, of 43 runs at scale 10: 15 % and 0.91 of these.) Such days do not tell prices of
rows from those of bytes, nor does much depend on EXPRESSION_ROW, CONDITION_ROW, BUILD_ROW,
OUTPUT_ROW and SORT_ROW, which are near what they were. `forerun calibrate` does the same for the
runs of a store.
Origin "TPC-H 10": seen in days and batches at scale 10, as it says.
"""

from __future__ import annotations

MICRO = 1_000_000
"""Millionths in a CPU second: costs are integers in millionths of a CPU second."""

RUN_START = 9_200_000.0
"""Open a run: start an application, its JVM and its session, and end it. Fitted."""

STAGE_START = 1_400_000.0
"""Plan a stage, generate and compile its code, start its jobs, commit its files. Fitted."""

JOIN_START = 650_000.0
"""The same of each join: code to generate and run cold, tasks to start. Fitted."""

MEMBER_START = 550_000.0
"""Open a run of one more report in an application that is open: read its plan and pins, bind its
views, check and commit it. This and WARM: least squares of relative errors over the 234 runs of
TPC-DS's night at scale 1 (28 early ones with 70 stages, 103 final ones, 103 of the group all at the
end; local[2], 2026-11-29): beside what work costs, 0.56 s a run, 0.33 s a stage and 0.10 s a join,
of which executors take 0.22, 0.16 and 0.04, since every stage's code is new; and 1.1 / k of the
starts for the k-th report. Early runs have two and a half stages, texts and own batch have one."""
WARM = 0.2
"""What the starts of stages and joins cost in a JVM that has done very many, as a part of what they
cost alone. On the way there it is 1 / k of the rest for the k-th report of an application: so three
reports take 0.69 of their starts, as three at scale 3 did (0.6: their batch applications took 14.5
to 16.7 s each beside their executors, and 26.8 s in one), and 103 take 0.24."""

SCAN_ROW = 0.071
"""Decode a row of Parquet, besides its bytes. Fitted."""

SCAN_BYTE = 0.0018
"""Decode a byte of a column that is read. Fitted."""

EXPRESSION_ROW = 0.017
"""Evaluate one scalar call on one row, generated code. Fitted."""

CONDITION_ROW = 0.0033
"""Compare, or combine what was compared: most rows are through after the first
comparison. Fitted."""

DECIMAL_ROW = 0.06
"""Multiply or add up DECIMALs as the user wrote them. Fitted."""

NARROW_DECIMAL_ROW = 0.0033
"""Add up DECIMALs of at most 8 digits, which Spark does in longs, or hand on any of at most 18.
Nine million rows in a warm JVM said: 0.009 for such a sum, 0.14 for one of wider values, 0.07 for a
product, in narrow types as in wide ones."""

PATTERN_ROW = 0.98
"""Match a LIKE or regular expression on one row. Fitted."""

AGGREGATE_ROW = 0.1
"""Find the group of a row and update its state, besides expressions. Fitted."""

GROUP = 0.14
"""Create, spill and emit a group. Fitted."""

WIDE_GROUP = 0.6
"""The same of a sum of DECIMALs of more than 8 digits, besides: six million rows in two million
groups, less what the sums of 97 groups take, in one warm JVM (docs/lab/planning.md)."""

JOIN_ROW = 0.25
"""Sort or hash a row of a partitioned join and match it. Fitted."""

PROBE_ROW = 0.048
"""Look a row up in a broadcast table. Fitted."""

BUILD_ROW = 0.22
"""Put a row into the table of a shuffled hash join, by a key that Spark packs into a long. This and
the two below: 18 million rows in 8 and in 32 buckets, joined with 0.1, 0.9 and 4.4 million of them
in either way, in one JVM that was warm."""

WIDE_KEY = 4.0
"""How many times as dear that is by any other key, such as one of two columns that have more than
8 bytes together: its rows are hashed and compared byte by byte."""

HASHED = 0.7
"""What a row costs that is looked up in such a table, as a part of JOIN_ROW: where neither side is
sent to all tasks, hashing saves the sort and little else."""

HASH_SIDE_BYTES = 256 << 20
"""A side of a join up to this size fits in memory even if one bucket gets all of it, so hashing it
is safe whatever the skew."""

OUTPUT_ROW = 0.067
"""Emit a joined row. A guess."""

EXCHANGE_ROW = 0.27
"""Serialize, hash, write and read back one row of a shuffle. Fitted."""

EXCHANGE_BYTE = 0.0048
"""The same per byte. Fitted."""

BLOCK = 1_250.0
"""Write and read back what one task has for one partition of a shuffle, beside its rows. 1.5 and 6
million rows of three columns from two tasks in 8, 64 and 200 partitions, which Spark joined again
to two, in one JVM that was warm, medians of three: 0.58, 0.68 and 0.90 CPU s, and 1.99, 2.18 and
2.25; such rows joined, 4.05 in 8 and 4.97 in 200. That is 0.8 ms a block, 1.25 where code is as
cold as in most runs."""

TEXT_PARTITIONS = 200
"""Spark's spark.sql.shuffle.partitions, into which the user's own text is shuffled."""

STAGE_PARTITIONS = 8
"""Into so many a stage of our own is shuffled at least (spark_jobs/engines/spark.py); their blocks
are in the prices of rows."""

PARTITION_BYTES = 64 << 20
"""A stage has a partition for each of these bytes."""

SPLIT_BYTES = 128 << 20
"""Spark's spark.sql.files.maxPartitionBytes: what one task reads, and then shuffles."""

LEAST_TASKS = 2
"""However few its bytes are, a shuffle has so many tasks before it: one for each core of a small
job."""

WRITE_ROW = 0.12
"""Encode a row of Parquet. Fitted."""

WRITE_BYTE = 0.0039
"""Encode and compress a byte. Fitted."""

SORT_ROW = 0.69
"""Sort a row globally. A guess."""

TASK = 40_000.0
"""Start and end the task of a bucket, beside its rows, where code is as cold as in most runs. This
and the next two are CPU of whole processes on one machine (local[2]), a million rows in more and
fewer buckets. Applications that did nothing else, 4, 16 and 64 buckets, medians of three: kept
twice 54 ms a bucket, joined from two files each 53 (to 16) and 79 (to 64). The same in one that had
done all of it before, medians of five: to keep 20 ms, to read 7, 8 from three files each."""

FILE_WRITE = 13_000.0
"""Write the file of a bucket, beside its rows: open, close, move, list and count it."""

FILE_READ = 5_000.0
"""Open the file of a bucket that is read, on a local disk. A guess between cold and warm."""

BUCKET_BYTES = 96 << 20
"""A bucket of a family has at most so many bytes at the end of the day, as values and not as files,
so that a task can sort or group it in 200 MB, what Spark's default heap of 1 GB leaves each of two.
Fewer buckets are cheaper, but not by what spilling costs: that moves each byte once more, 0.5 CPU
seconds for such a bucket, where one more costs a twentieth in each run."""

LEAST_BUCKETS = 4
"""However few its bytes are, a family has so many buckets: tasks for the cores of a small job. They
are in STAGE_START, which was fitted to stages that had as many at least."""

MOST_BUCKETS = 1024
"""However many its bytes are: each run opens and writes a file for each."""

PARTIAL_TASKS = 8
"""Tasks that may each have rows of a group before they are moved. A guess: cores of a small job."""

BROADCAST_BYTES = 10 << 20
"""Spark's spark.sql.autoBroadcastJoinThreshold."""

COUNTED_BYTES = 32 << 20
"""Up to this estimated size, a side of a join that is computed and counted before its stage
(planner/stages/small_sides.py) is taken to be broadcast: its hash table then has some 128 MB, the
most that a run sends. TPC-H 10, own batch of Q3 and Q7, which were estimated at 0.99 and 0.97 of
the user's text and took 0.74 and 0.57; with this they are estimated at 0.56 and 0.75."""

CLEARLY = 0.94
"""Early work is done only if the estimate is below this share of batch, however sure it is (no
regret): prices are no more exact than this. TPC-H 10: Q9 and Q10, estimated at 0.95 and 0.99 of
batch, took 1.07 and 1.04 (by earlier plans)."""

CLEAREST = 0.85
"""Below this share of batch it is done however unsure the estimate is: the rest of the day is
planned again, so most of what can be lost is what the first run costs. A guess. Own batch in place
of the user's text has to be below it, however sure: TPC-H 10, by whole processes, those estimated
below it took 0.44 to 0.75 of the text, those between it and 0.94 took 0.94 to 1.07."""

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
