"""Find what the reports of a group have in common: sub-plans that one application computes once.

Every report has been planned by now. The parts of all plans have names that do not depend on the
query (:mod:`forerun.planner.materialize.computed_parts`), so two plans with parts of one name share
a group, as they would in one memo with a root for each report. A part that runs of several reports
compute at the same time point is computed by the first of them and held for the others, where that
is clearly cheaper: naive sharing may cost more than it saves (Tang et al., SIGMOD 2021), since rows
have to be held and read. The greedy search is that of Roy et al. (SIGMOD 2000): what saves most
first, then what saves most beside it.

A report whose plan is the user's own text has no parts. Where a part of its query occurs in the
query of another report, it is planned in stages of our own, too, and has them if it is clearly
cheaper so, with what is spared.

A report that is done without the others computes what it would have read. So nobody's result
depends on another report, and no plan is dearer by what is shared unless it is left alone.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from forerun.planner import api
from forerun.planner.algebra.describe import words_of
from forerun.planner.algebra.fingerprint import canonical
from forerun.planner.algebra.relational import Aggregate, Join, Relation, sources, walk
from forerun.planner.contract.plan_v1 import COMMON
from forerun.planner.cost import operators
from forerun.planner.cost.constants import CLEAREST, CLEARLY
from forerun.planner.errors import UnknownOperatorError
from forerun.planner.materialize.computed_parts import ComputedParts, Part, PartName
from forerun.planner.request import PlanRequest
from forerun.planner.result import PlanResult
from forerun.planner.stages.common_reads import CommonPart


@dataclass(frozen=True, slots=True)
class Shared:
    """A sub-plan that reports have in common: the name of its view, what it is in words, the names
    of the reports, first the one that computes it, and the weighted cost that is saved, in
    millionths of a CPU second."""

    view: str
    title: str
    readers: tuple[str, ...]
    saved: float


@dataclass(slots=True)
class _Option:
    """A report as it may be done: the planned result, what its text costs if that is what it does
    now (0 otherwise), and the parts of its plan by their names in the group."""

    place: int
    found: PlanResult
    text: float
    parts: Mapping[PartName, Part]
    taken: set[PartName] = field(default_factory=set)
    spared: float = 0.0

    @property
    def total(self) -> float:
        """Its weighted cost in stages, with what is spared by now."""
        return self.found.decision.chosen.total - self.spared

    @property
    def switches(self) -> bool:
        """Return whether it would be the user's text as far as is known."""
        return bool(self.text) and not self.taken

    def weight(self, name: PartName) -> float:
        return self.found.request.points[self.parts[name].run - 1].weight

    def overlaps(self, name: PartName) -> bool:
        """Return whether a part is one that is taken, above one or below one."""
        below = self.parts[name].below
        return any(
            name == one or one in below or name in self.parts[one].below for one in self.taken
        )


@dataclass(frozen=True, slots=True)
class _Saving:
    """A part for several reports, with what it saves."""

    name: PartName
    readers: tuple[_Option, ...]
    saved: float


def with_common_subplans(
    results: Sequence[PlanResult], points: Sequence[tuple[int, ...]]
) -> tuple[tuple[PlanResult, ...], tuple[Shared, ...]]:
    """Return the plans with what is worth sharing shared, in the same order, and what that is.
    ``points``: the time points of the group in which each report has its runs, in order."""
    options = [*_options(results, points)]
    chosen: list[_Saving] = []
    while (saving := _best(options)) is not None:
        chosen.append(saving)
        for place, one in enumerate(saving.readers):
            part = one.parts[saving.name]
            one.taken.add(saving.name)
            one.spared += one.weight(saving.name) * (_spared(one, part) - _once(one, part, place))
    return _planned(results, options, chosen), tuple(map(_shared, chosen))


def _shared(saving: _Saving) -> Shared:
    first = saving.readers[0]
    title = words_of(first.found.relation).of(first.parts[saving.name].relation)
    names = tuple(one.found.plan.report for one in saving.readers)
    return Shared(_view(saving.name), title, names, saving.saved)


def _options(results: Sequence[PlanResult], points: Sequence[tuple[int, ...]]) -> Iterator[_Option]:
    """Yield every report that has parts, or could have some that others have."""
    common = _in_several(results)
    for place, (found, runs) in enumerate(zip(results, points, strict=True)):
        text, staged, settings = 0.0, found, found.request.settings
        if not (settings.common_subplans and settings.prices.holds):
            continue
        if found.decision.chosen.is_text:
            if not common[place]:
                continue
            text = found.decision.chosen.total
            staged = _in_stages(found)
            if staged.decision.chosen.is_text:
                continue
        best, plan = staged.compared.best, staged.decision.chosen.extracted
        if plan is not None:
            numbers = {0: 0, **dict(enumerate(runs, 1))}
            named = ComputedParts(best.space, best.group_sizes, plan).by_name()
            parts = {name.among(numbers): part for name, part in named.items()}
            yield _Option(place, staged, text, parts)


def _in_several(results: Sequence[PlanResult]) -> list[bool]:
    """Return of each report whether another one's query has a join or a grouping of it."""
    texts = [frozenset(_texts(found.relation)) for found in results]
    count = Counter(text for one in texts for text in one)
    return [any(count[text] > 1 for text in one) for one in texts]


def _texts(relation: Relation) -> Iterator[str]:
    known: dict[int, str] = {}
    for node in walk(relation):
        if isinstance(node, Aggregate | Join):
            try:
                yield canonical(node, known)
            except UnknownOperatorError:
                continue


def _in_stages(found: PlanResult) -> PlanResult:
    """The plan in stages of our own in place of the user's text; as it is where the text was asked
    for, or where hints or the engine say no."""
    request, settings = found.request, found.request.settings
    asked_for = request.method != "auto" or settings.own_batch != "cost"
    if asked_for or found.query.hinted or not settings.prices.own_batch:
        return found
    asked = replace(request, method="batch", settings=replace(settings, own_batch="always"))
    return api.plan(asked)


def _best(options: Iterable[_Option]) -> _Saving | None:
    """The part that saves most, with the reports for which it does; None if there is none."""
    having: dict[PartName, list[_Option]] = {}
    for one in options:
        for name in one.parts:
            if not one.overlaps(name):
                having.setdefault(name, []).append(one)
    savings = (_saving(name, readers) for name, readers in having.items() if len(readers) > 1)
    return max((one for one in savings if one), key=lambda one: one.saved, default=None)


def _saving(name: PartName, options: Sequence[_Option]) -> _Saving | None:
    """Return the saving of a part if these reports share it, without those that lose by it."""
    readers = [one for one in options if _sees_the_same(one, options[0], name)]
    while len(readers) > 1:
        gains = [_gain(one, name, place) for place, one in enumerate(readers)]
        losing = [one for one, gain in zip(readers[1:], gains[1:], strict=True) if gain <= 0.0]
        if not losing:
            paid = sum(one.weight(name) * one.parts[name].cost for one in readers)
            saved = sum(gains)
            clear = saved > (1 - CLEARLY) * paid and all(_is_clear(one, name) for one in readers)
            return _Saving(name, tuple(readers), saved) if clear else None
        readers = [one for one in readers if one not in losing]
    return None


def _gain(one: _Option, name: PartName, place: int) -> float:
    """Return what a report saves by a part as one of its readers; the first computes it for the
    others. If it gives up its text for it, it saves less by what its stages are dearer."""
    part = one.parts[name]
    switch = one.total - one.text if one.switches else 0.0
    return one.weight(name) * (_spared(one, part) - _once(one, part, place)) - switch


def _is_clear(one: _Option, name: PartName) -> bool:
    """Return whether a report that gives up its text is clearly cheaper, whoever pays for the
    part."""
    if not one.switches:
        return True
    return one.total - one.weight(name) * _spared(one, one.parts[name]) < CLEAREST * one.text


def _spared(one: _Option, part: Part) -> float:
    prices = one.found.request.settings.prices
    return part.cost - operators.read_held(part.size, prices)


def _once(one: _Option, part: Part, place: int) -> float:
    """Return what the first reader pays for all: computing and holding the rows; 0 for the
    others."""
    if place:
        return 0.0
    return part.cost + operators.hold(part.size, one.found.request.settings.prices)


def _sees_the_same(one: _Option, other: _Option, name: PartName) -> bool:
    """Return whether two reports compute a part in the same way: by the session, the declarations
    that each of them verifies for itself, and the bounds of files that narrow casts rest on. That
    their runs read the same files is verified by the run."""
    used = sources(one.parts[name].relation)
    return _seen(one.found, used) == _seen(other.found, used)


def _seen(found: PlanResult, used: frozenset[str]) -> tuple[object, ...]:
    request: PlanRequest = found.request
    seen = {
        one.name: (one.columns, one.change, one.keys, one.stats)
        for one in request.sources
        if one.name in used
    }
    relied = frozenset(pair for pair in found.reading.relied if pair[0] in used)
    return seen, relied, request.settings.session, request.settings.prices.flaws


def _view(name: PartName) -> str:
    """The name of the view of a part: the same in the plans of all reports."""
    text = f"{name.since} {name.at} {name.run} {name.relation}"
    return COMMON + hashlib.sha256(text.encode()).hexdigest()[:12]


def _planned(
    results: Sequence[PlanResult], options: Sequence[_Option], chosen: Sequence[_Saving]
) -> tuple[PlanResult, ...]:
    """The plans, with what was chosen to be read in place of being computed."""
    wanted: dict[int, list[CommonPart]] = {}
    for saving in chosen:
        view, first = _view(saving.name), saving.readers[0]
        part = first.parts[saving.name]
        subplan = api.common_subplan(first.found, view, part)
        for place, one in enumerate(saving.readers):
            read = CommonPart(one.parts[saving.name], subplan, first=place == 0)
            wanted.setdefault(one.place, []).append(read)
    by_place = {one.place: one.found for one in options}
    return tuple(
        api.reading_common(by_place[place], wanted[place]) if place in wanted else found
        for place, found in enumerate(results)
    )
