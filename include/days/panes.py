"""Panes: the days of a rolling range, of which a day that inherits takes the rows back together.

What is kept by pane (:mod:`forerun.planner.rules.incremental.panes`) is right only if a pane goes
as a whole. That is looked at for every run, by the days of the files that it adds and takes back; a
run of which it is not so, as where a file of a day in the range was corrected, has no panes, and is
planned without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from forerun.include.state.records import Manifest, Pin, PinnedFile
from forerun.planner.request import PlanRequest, Source


def panes_of(pin: Pin, base: Pin | None, withdrawn: Sequence[PinnedFile]) -> tuple[str, ...]:
    """Return the days that the rows of a pin are of, if each of what is taken back goes as a whole;
    none if some of its rows stay, or come, if nobody knows of which day a file is, or if it was of
    another day when the ``base`` was pinned."""
    before = {file.uri: file.day for file in base.files} if base else {}
    files = (*pin.files, *(base.files if base else ()), *withdrawn)
    if not all(file.day and before.get(file.uri, file.day) == file.day for file in files):
        return ()
    there = {file.day for file in pin.files}
    return () if there & {file.day for file in withdrawn} else tuple(sorted(there))


def by_pane(file: PinnedFile, name: str) -> PinnedFile:
    """Return a file with its pane as a constant of this name."""
    return replace(file, constants=(*file.constants, (name, file.day)))


def with_panes(request: PlanRequest, manifest: Manifest) -> PlanRequest:
    """Return the request of a run with how many panes each source has, as its manifest has them."""
    counts = {one.name: len(one.panes) for one in manifest.sources if one.panes}

    def paned(sources: Sequence[Source]) -> tuple[Source, ...]:
        return tuple(replace(one, panes=counts.get(one.name, 0)) for one in sources)

    if not counts:
        return request
    sources, first = paned(request.sources), paned(request.first_sources)
    return replace(request, sources=sources, first_sources=first)
