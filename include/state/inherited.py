"""State that a generation has inherited of an earlier day, whole as of that day's final run.

A report over a rolling range reads today nearly what it read yesterday. Its day goes on from the
state of an earlier day: its first delivery is what has changed since that day's final run, rows of
files that have left the range taken back (Tempura, section 7: range queries over days). What is
inherited is decided once for a generation, and named here with every file, so nothing else of the
earlier day is read to use it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from forerun.include.state.layout import Generation
from forerun.include.state.records import ArtifactPartition, decode
from forerun.include.stores.store import StoreReader
from forerun.planner.contract import Family


@dataclass(frozen=True, slots=True, kw_only=True)
class InheritedSource:
    """A source of which the earlier day's rows stay but for some: the pin of its final run."""

    name: str
    pin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRun:
    """The committed run, of whichever day, with which a row of days begins that inherit from each
    other. Joins keep the order that they had then. ``arrived``: which part of its day was there."""

    day: str
    generation: str
    run: int
    arrived: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Inherited:
    """The state that a generation goes on from. ``day`` is empty where it has inherited nothing.

    ``days``: how many days in a row have inherited up to this one, and ``runs_before`` how many
    runs these days had: over them the runs of ``partitions`` are counted on, so that the day's own
    runs come after all of them. ``generations``: the day and number of each that has a partition
    here. ``sources``: those of which there was something; of all others everything is new.
    """

    day: str = ""
    generation: str = ""
    days: int = 0
    runs_before: int = 0
    first: FirstRun | None = None
    families: tuple[Family, ...] = ()
    partitions: tuple[ArtifactPartition, ...] = ()
    generations: tuple[tuple[str, str], ...] = ()
    sources: tuple[InheritedSource, ...] = ()

    def pin(self, source: str) -> str:
        """Return the key of the pin that the earlier day's final run has read; "" for none."""
        return next((one.pin for one in self.sources if one.name == source), "")

    def start(self, family: str) -> int:
        """Return the run in which a family has started, as runs are counted over the days."""
        return next(one.run for one in self.partitions if one.family == family)

    def of_days(self, report: str, families: Collection[str] | None = None) -> Iterator[Generation]:
        """Yield the generations of earlier days of which files are read, by who reads these
        families; by default all of them."""
        read = [one for one in self.partitions if families is None or one.family in families]
        for day, generation in self.generations:
            at = Generation(report, day, generation)
            if any(one.folder.startswith(f"{at.folder}/") for one in read):
                yield at


def read_inherited(store: StoreReader, at: Generation) -> Inherited:
    """Return what a generation has inherited: nothing, where that was never decided."""
    found = store.find(at.inherited)
    return decode(Inherited, found.data, at.inherited) if found else Inherited()
