"""Breaks of what the state store is trusted for: fences, commits, pointers and records."""

from __future__ import annotations

from scripts.mutations.mutation import Mutation

_FENCE = "tests/include/days/test_fence.py"
_PUBLISHING = "tests/include/days/test_publishing.py"
STORE = (
    Mutation(
        "day: a run goes on from the run before it, committed or not", "include/days/manifests.py",
        "    base = chain[-1].run if chain else 0\n", "    base = run - 1\n",
    ),
    Mutation(
        "results: what was missing is forgotten when sources are pinned",
        "include/days/manifests.py", "incomplete=tuple(incomplete),", "",
    ),
    Mutation(
        "results: a reader that wants a whole day gets a part of it", "include/state/pointers.py",
        "return not self.early and not self.incomplete", "return not self.early",
    ),
    Mutation(
        "clean-up: a generation is deleted before it is closed", "include/state/expire.py",
        "    if not dry_run:\n        close_through(store, report, day, last)\n", "",
        suite=(_FENCE,),
    ),
    Mutation(
        "clean-up: an option deletes what is younger than a day", "include/state/expire.py",
        "min(floor, now - timedelta(hours=keep.orphan_hours).total_seconds())",
        "now - timedelta(hours=keep.orphan_hours).total_seconds()", suite=(_FENCE,),
    ),
    Mutation(
        "clean-up: versions are deleted before the pointer says so", "include/state/expire.py",
        "if _swept(store, key, found, Unpublished(report=report, day=day, swept=0)):",
        "if found:", suite=(_FENCE,),
    ),
    Mutation(
        "commit: the fence is not read after the put", "include/state/commits.py",
        "encode(commit))\n    refuse_closed(store, at)\n", "encode(commit))\n", suite=(_FENCE,),
    ),
    Mutation(
        "commit: rows are not compared with what the writers reported", "spark_jobs/stages.py",
        "    if reported is not None and rows != reported:\n", "    if False:\n",
        suite=("tests/spark/test_classic.py", "-k", "lost_before_it_is_listed"),
    ),
    Mutation(
        "publish: the pointer moves before the fence is read", "include/days/publishing.py",
        "    day.refuse_closed()\n    if found.tag is None:\n", "    if found.tag is None:\n",
        suite=(_FENCE,),
    ),
    Mutation(
        "publish: the pointer moves to copies that nobody has compared",
        "include/days/publishing.py",
        "_published(store, folder, result)\n\n\ndef", "result.files\n\n\ndef",
        suite=(_PUBLISHING,),
    ),
    Mutation(
        "publish: what is copied is not what was committed", "include/days/publishing.py",
        "    verify_partition(store, result)\n", "", suite=(_PUBLISHING,),
    ),
    Mutation(
        "publish: nobody looks whether the file in a partition folder is still whole",
        "include/days/partition_sink.py", 'file.checksum in ("", _checksum(data))', "True",
        suite=("tests/include/days/test_partition_sink.py", "-k", "repairs_it and not s3"),
    ),
    Mutation(
        "publish: what is published is not looked at again", "include/days/publishing.py",
        "there.version == version and not _lost_files(day, there):",
        "there.version == version:", suite=(_FENCE,),
    ),
    Mutation(
        "records: a field that nobody knows is taken", "planner/contract/codec.py",
        "sorted(raw.keys() - known.keys())", "sorted(raw.keys() - raw.keys())",
        suite=("tests/planner/contract",),
    ),
)  # fmt: skip
