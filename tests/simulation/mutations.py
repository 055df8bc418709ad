"""Ways to break the protocol, each of which the machine must find.

A mutation is the text of one function with a part of it replaced, put wherever the product has the
function. The search for it is as for a fault: schedules from seed 0 on until an invariant breaks.
"""

from __future__ import annotations
import __future__

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from forerun.include.days import manifests, partition_sink, publishing
from forerun.include.runs import prepare
from forerun.include.sources import delivery, pins
from forerun.include.state import commits, expire, fence, layout
from forerun.include.stores import store
from forerun.spark_jobs import inputs, stages
from tests.simulation import doors
from tests.simulation.machine import Played, play


@dataclass(frozen=True)
class Mutation:
    """``changes``: of each function the pieces of text that are replaced, each there once."""

    name: str
    changes: tuple[tuple[Any, tuple[tuple[str, str], ...]], ...]

    def __str__(self) -> str:
        return self.name

    def pairs(self) -> list[tuple[Any, Any]]:
        """What is replaced by what."""
        return [(function, rewritten(function, texts)) for function, texts in self.changes]


def rewritten(function: Callable[..., Any], texts: tuple[tuple[str, str], ...]) -> Any:
    """The function with other text. Raises ``LookupError`` if a piece is not there exactly once."""
    source = textwrap.dedent(inspect.getsource(function))
    for old, new in texts:
        if source.count(old) != 1:
            raise LookupError(f"{function.__qualname__} has {old!r} {source.count(old)} times")
        source = source.replace(old, new)
    flags = __future__.annotations.compiler_flag
    code = compile(source, inspect.getsourcefile(function) or "", "exec", flags, dont_inherit=True)
    names: dict[str, Any] = {}
    exec(code, function.__globals__, names)
    return names[function.__name__]


def _one(name: str, function: Callable[..., Any], *texts: tuple[str, str]) -> Mutation:
    return Mutation(name, ((function, texts),))


MUTATIONS = (
    _one("no fence", fence.is_closed, ("    return ", "    return False and ")),
    _one(
        "clean-up does not close before it deletes", expire._generations,
        ("        close_through(store, report, day, last)", "        pass"),
    ),
    _one(
        "clean-up does not change the pointer before it deletes a version", expire._swept,
        ("    if found.tag is None:",
         "    if found.tag is not None:\n        return True\n    if True:"),
    ),
    _one(
        "clean-up does not tell a first publication that it deletes its copies", expire._swept,
        ("    if found.tag is None:",
         "    if found.tag is None:\n        return True\n    if False:"),
    ),
    _one(
        "clean-up deletes folders of attempts that may still commit", expire._orphans,
        (" and _run_of(folder) in committed", ""),
    ),
    _one(
        "ages by the clock of the host", expire.store_clock,
        ("    return put.modified",
         "    from tests.simulation.doors import host_clock; return host_clock()"),
    ),
    _one("no read-back after a put", store.put_or_get, ("    winner = store.get(key)",
         "    return data, True\n    winner = store.get(key)")),
    _one(
        "a commit is put whether one is there or not", commits.commit_run,
        ("    winner, _ = put_or_get(store, key, encode(commit))",
         "    winner = encode(commit)\n    store.put(key, winner)"),
    ),
    _one(
        "a manifest is put whether one is there or not", manifests.manifest_of,
        ("    data, _ = put_or_get(store, key, encode(manifest))",
         "    data = encode(manifest)\n    store.put(key, data)"),
    ),
    _one(
        "a retry makes a new manifest", manifests.manifest_of,
        ("    found = store.find(key)", "    found = None"),
        ("    data, _ = put_or_get(store, key, encode(manifest))",
         "    data = encode(manifest)\n    store.put(key, data)"),
    ),
    _one(
        "a pin is put whether one is there or not", pins.pin_source,
        ("if store.put_if_absent(key, encode(pin)):", "if store.put(key, encode(pin)) is None:"),
    ),
    _one(
        "who loses the race for a pin takes the winner's", pins.pin_source,
        ("        backoff.wait()", "        return key, read_pin(store, key)"),
    ),
    _one(
        "a generation is opened whether it is there or not", prepare._open,
        ("store.put_if_absent(opened.at.record, encode(record))",
         "(store.put(opened.at.record, encode(record)) or True)"),
    ),
    _one(
        "closed numbers of generations are given out again", prepare._open,
        ("max(newest, closed, ", "max(newest, "), (" and not opened.is_closed()", ""),
    ),
    _one(
        "an older generation replaces a newer one", publishing._refuse_older,
        ("    if there.generation > number:", "    if False:"),
    ),
    _one(
        "an early result replaces a whole day", publishing._refuse_older,
        ("    if early and (not there.early or ", "    if early and ("),
    ),
    _one(
        "the pointer is put whoever has moved it", publishing._try_to_publish,
        ("        won = store.put_if_match(key, encode(pointer), found.tag)",
         "        won = store.put(key, encode(pointer)) is None"),
    ),
    _one(
        "an older generation replaces a newer one in a table", partition_sink._refuse_to_replace,
        ("    if there.generation > stamp.generation:", "    if False:"),
    ),
    _one(
        "a published file is put whoever has put it", partition_sink._replace,
        ("            if store.put_if_match(key, data, found.tag):",
         "            if store.put(key, data) is None:"),
    ),
    _one(
        "attempts share a folder", layout.Generation.artifact,
        ("{run}-{part(attempt, 'attempt')}", "{run}-a"),
    ),
    _one("stored files are not verified", commits.verify_partition,
         ("    check_buckets(partition)", "    return")),
    Mutation("nothing is looked at after reading", (
        (inputs.verify_read, (("    verify_sources(inputs)", "    return"),)),
        (inputs.verify_stage_read, (("    verify_sources(inputs, stage)", "    return"),)),
    )),
    Mutation("sources are not looked at after reading", (
        (inputs.verify_read, (("    verify_sources(inputs)", "    pass"),)),
        (inputs.verify_stage_read, (("    verify_sources(inputs, stage)", "    pass"),)),
    )),
    _one("what was kept is not looked at after reading", inputs._verify_kept,
         ("    for partition in inputs.partitions(family):", "    for partition in ():")),
    _one(
        "a conditional put that lost its answer is a failure", commits.commit_run,
        ("    winner, _ = put_or_get(store, key, encode(commit))",
         "    if not store.put_if_absent(key, winner := encode(commit)): raise CommitError('')"),
    ),
    _one(
        "a commit is of the files that are listed", stages.described,
        ("    if reported is not None and rows != reported:", "    if False:"),
    ),
    Mutation("a run does not look after what it has written itself", (
        (inputs.verify_read, (("    for partition in written:", "    for partition in ():"),)),
        (inputs.verify_stage_read, (("            if item.family in done:",
                                     "            if False:"),)),
    )),
    _one(
        "what is read for a table is not looked at again", partition_sink.publish_partition,
        ("    verify_partition(store, result)", "    pass"),
    ),
    Mutation("nothing is verified before publication", (
        (publishing._try_to_publish, (("    verify_partition(store, result)\n", ""),)),
        (publishing._published, (("stored is None or not _is_as_published(store, key, copied)",
                                  "stored is None"),)),
    )),
    _one(
        "readers are not told what was missing", publishing._try_to_publish,
        ("read_manifest(store, at, run)",
         "replace(read_manifest(store, at, run), incomplete=())"),
    ),
    _one(
        "publishing again does not look", publishing._lost_files,
        ("    folder = published_folder(pointer)", "    return []"),
    ),
    _one(
        "a delivery may replace files", delivery.delivery,
        ("if not same or (there.digest", "if False and (there.digest"),
    ),
    _one(
        "a run goes on from what is committed by now", inputs.load_inputs,
        (", tip=manifest.base", ""),
    ),
    _one(
        "a run reads its deliveries from the start", manifests.manifest_of,
        ("    before = pins_of(store, at, base)", "    before = {}"),
    ),
    _one(
        "a run may be pinned after a later one was committed", manifests.manifest_of,
        ("    if base > run:", "    if False:"),
    ),
)  # fmt: skip


def search(mutation: Mutation, most: int, first: int = 0) -> tuple[int, Played | None]:
    """How many schedules it took to find a mutation, and the one that did."""
    with doors.installed(mutation.pairs()):
        for number in range(most):
            played = play(first + number)
            if played.violation:
                return number + 1, played
    return most, None
