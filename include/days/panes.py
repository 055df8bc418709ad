"""Panes: the days of a rolling range, of which a day that inherits takes the rows back together.

What is kept by pane (:mod:`forerun.planner.rules.incremental.panes`) is right only if a pane goes
as a whole. That is looked at for every run, by the files that it adds and takes back; a run of
which it is not so, as where a file of a day in the range was corrected, has no panes, and is
planned without them.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta

from forerun.include.reports.spec import SourceSpec
from forerun.include.sources.files import locate
from forerun.include.state.records import Manifest, Pin, PinnedFile
from forerun.planner.request import PlanRequest, Source

Panes = tuple[tuple[str, str], ...]
"""The folders of days, each with the day, as ISO has it."""


def panes_of(source: SourceSpec, days: Collection[date]) -> Panes:
    """Return the panes of a source as reports of these days read it: none where a folder has the
    rows of several days, so that it does not tell of which day a row is."""
    found: dict[str, str] = {}
    for day in days:
        for folder, each in source.folders_on(day).items():
            at = locate(folder)
            known = found.setdefault(at.store.uri(at.key), each.isoformat())
            if source.path_on(each - timedelta(days=1)) == folder or known != each.isoformat():
                return ()
    return tuple(sorted(found.items()))


def if_whole(panes: Panes, pin: Pin, base: Pin | None, withdrawn: Sequence[PinnedFile]) -> Panes:
    """Return the panes if each of what is taken back goes as a whole; none if some of its rows
    stay, or come, or lie in no folder of a day."""
    there = dict(panes)
    files = (*pin.files, *(base.files if base else ()), *withdrawn)
    if any(pane_of(file, there) is None for file in files):
        return ()
    gone = {pane_of(file, there) for file in withdrawn}
    return () if any(pane_of(file, there) in gone for file in pin.files) else panes


def pane_of(file: PinnedFile, panes: Mapping[str, str]) -> str | None:
    """Return the day in whose folder a file was delivered; None if it is in none of them."""
    return panes.get(folder_of(file, panes))


def folder_of(file: PinnedFile, folders: Container[str]) -> str:
    """Return which of some folders a file was delivered into, empty for none of them."""
    folder = file.name
    while (cut := folder.rfind("/")) > 0:
        folder = folder[:cut]
        if folder in folders:
            return folder
    return ""


def by_pane(file: PinnedFile, panes: Mapping[str, str], name: str) -> PinnedFile:
    """Return a file with its pane as a constant of this name."""
    return replace(file, constants=(*file.constants, (name, pane_of(file, panes))))


def with_panes(request: PlanRequest, manifest: Manifest) -> PlanRequest:
    """Return the request of a run with how many panes each source has, as its manifest has them."""
    counts = {one.name: len(one.panes) for one in manifest.sources if one.panes}

    def paned(sources: Sequence[Source]) -> tuple[Source, ...]:
        return tuple(replace(one, panes=counts.get(one.name, 0)) for one in sources)

    if not counts:
        return request
    sources, first = paned(request.sources), paned(request.first_sources)
    return replace(request, sources=sources, first_sources=first)
