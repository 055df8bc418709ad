"""The best plan of one method, and the best of all: planned together, each alone, and batch.

The greedy search over all methods starts from what the temporal search finds by itself, and may end
where no single change helps, though a whole other set of kept rows would. What a method alone would
keep is such a set. So each method is planned alone too; what it keeps is where the search over all
goes on from; and the cheapest of everything is handed out. A method whose rules are all that found
anything would only be planned twice; it is not. Under a state budget there are other seeds
(``budget``), and what is looked at must not depend on the budget: methods are not planned apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from planner.algebra.describe import words_of
from planner.algebra.relational import Relation
from planner.materialize.families import Families, all_chains
from planner.materialize.runs import Candidate, Decision, Runs, Seed
from planner.materialize.shared import add_shared
from planner.request import PlanRequest
from planner.rules.explore.catalog import EXPLORE, Moments
from planner.rules.methods.catalog import AUTO, SINGLE
from planner.rules.methods.method import Method
from planner.search.exploration import Explored, Scope, explore
from planner.temporal.figures import Figures, estimator
from planner.temporal.space import Space
from planner.tvr.signed import ColumnIds


@dataclass(frozen=True, slots=True)
class Planned:
    """What a method gives, and the space it was found in. ``ids`` go on from those of the memo.
    ``spent``: the budgets that ended a search, by their names in the settings."""

    method: Method
    explored: Explored
    space: Space
    figures: Figures
    families: Families
    decision: Decision
    ids: ColumnIds
    spent: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """The best plan, and what it was compared with: names of the methods that were planned alone,
    and of those that were not, since the budget of evaluations was spent. ``spent``: the budgets
    that ended a search, by their names in the settings: without, the plan might be better."""

    best: Planned
    alone: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    evaluations: int = 0
    spent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Alternative:
    """The best plan of one method alone, and in words what it keeps; or why it has none."""

    method: Method
    candidate: Candidate | None = None
    keeps: tuple[str, ...] = ()
    why_not: str = ""


def growing_sources(request: PlanRequest) -> frozenset[str]:
    """Names of the sources that grow."""
    return frozenset(source.name for source in request.sources if source.changing)


def retracting_sources(request: PlanRequest) -> frozenset[str]:
    """Names of those that grow whose deliveries also take rows back."""
    growing = (source for source in request.sources if source.changing)
    return frozenset(source.name for source in growing if source.change == "changelog")


def declared_keys(request: PlanRequest) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Keys that authors declare, of the sources that have any."""
    return {source.name: source.keys for source in request.sources if source.keys}


def plan_alone(method: Method, relation: Relation, request: PlanRequest, ids: ColumnIds) -> Planned:
    """The best plan of a method. ``ids`` are left as they were: whatever else is planned, the same
    method gives the same plan."""
    return _Search(method, relation, request, ids).planned()


def plan_best(relation: Relation, request: PlanRequest, ids: ColumnIds) -> Compared:
    """The cheapest of all methods together, each one alone, and batch."""
    together = _Search(AUTO, relation, request, ids)
    best = together.planned()
    spent = best.decision.evaluations
    settled = request.settings.temporal == "early" or request.settings.state_budget is not None
    if settled or not together.runs.looked_at or _is_hopeless(best.decision):
        return Compared(best, evaluations=spent, spent=best.spent)
    apart: list[Planned] = []
    left_out: list[str] = []
    for method in SINGLE:
        if method.why_not(relation, growing_sources(request)) is not None:
            continue
        if method.keeps is None and _finds(best.explored) <= set(method.rule_names):
            continue  # it would be the same memo again
        alone = _Search(method, relation, request, ids)
        share = alone.expressions / together.expressions
        if spent + share * best.decision.evaluations > request.settings.compare:
            left_out.append(method.name)
            continue
        apart.append(alone.planned())
        spent += apart[-1].decision.evaluations
    seeds = tuple(seed for one in apart for seed in _seeds(one, best))
    best = together.planned(seeds)
    for one in apart:
        if one.decision.chosen.rank < best.decision.chosen.rank:
            best = one
    if best.decision.chosen.is_batch and not request.committed:
        best = together.from_the_other_end()
    names = tuple(one.method.name for one in apart)
    spent = together.runs.evaluations + sum(one.decision.evaluations for one in apart)
    over = dict.fromkeys(name for one in (together.planned(), *apart) for name in one.spent)
    if left_out:
        over["compare"] = None
    return Compared(best, names, tuple(left_out), spent, tuple(over))


def _is_hopeless(decision: Decision) -> bool:
    """Whether all early work that was found is as dear as batch. Other searches find what is some
    hundredths cheaper, not more; and what is worth it has to be clearly cheaper than batch."""
    early = (one for one in (decision.chosen, *decision.rejected) if not one.is_batch)
    return all(one.rank >= decision.batch.rank for one in early)


def alternatives(
    relation: Relation, request: PlanRequest, ids: ColumnIds
) -> tuple[Alternative, ...]:
    """What each method gives when it is asked for by name, as for the plan of a day."""
    result = []
    for method in SINGLE:
        why_not = method.why_not(relation, growing_sources(request))
        if why_not is not None:
            result.append(Alternative(method, why_not=str(why_not)))
            continue
        alone = plan_alone(method, relation, replace(request, method=method.name), ids)
        result.append(Alternative(method, alone.decision.chosen, tuple(_kept(alone))))
    return tuple(result)


def _kept(one: Planned) -> list[str]:
    """What a plan keeps, in words, each once."""
    chosen = one.decision.chosen.chosen
    used = sorted(chosen.used) if chosen is not None else []
    return list(dict.fromkeys(one.families.family(kept, 0).title for kept, _ in used))


class _Search:
    """One method's memo, and the search over it, which may go on."""

    def __init__(
        self, method: Method, relation: Relation, request: PlanRequest, ids: ColumnIds
    ) -> None:
        off = frozenset(request.settings.rules_off)
        self._method = method
        self._ids = ids.fork()
        batch = request.method == "batch"
        trees = () if batch else tuple(tree for tree in EXPLORE if tree.name not in off)
        rules = tuple(rule for rule in method.rules if rule.name not in off)
        scope = Scope(
            growing_sources(request),
            retracting_sources(request),
            len(request.points),
            request.settings.speed_ups,
            _last_moments(request),
            request.settings.explore,
            declared_keys(request),
        )
        self._explored = explore(relation, scope, trees, rules, self._ids)
        self._space = Space(
            self._explored.memo,
            self._explored.root,
            method.keeps,
            placed_unions=request.settings.prices.placed_unions,
        )
        self._figures = Figures(self._explored.memo, request)
        self._families = Families(self._space, self._figures, request, words_of(relation))
        offers = () if batch else request.shared
        base = request.committed[-1].index if request.committed else 0
        add_shared(self._explored.memo, self._space, self._families, offers, base)
        self._figures.learn(self._families.observed())
        self.runs = Runs(self._space, self._figures, self._families, request)
        self._decision: Decision | None = None

    @property
    def expressions(self) -> int:
        """How many there are: the work of the search grows with them."""
        return len(self._explored.memo.expressions)

    def planned(self, seeds: tuple[Seed, ...] = ()) -> Planned:
        """The best plan, then the best one that is found from what others would keep."""
        if self._decision is None:
            self._decision = self.runs.decide()
        if seeds:
            self._decision = self.runs.improve(self._decision, seeds)
        return self._planned(self._decision)

    def from_the_other_end(self) -> Planned:
        """The plan again, looked for from where all is kept that can be."""
        self._decision = self.runs.from_the_other_end(self.planned().decision)
        return self._planned(self._decision)

    def _planned(self, decision: Decision) -> Planned:
        return Planned(
            self._method,
            self._explored,
            self._space,
            self._figures,
            self._families,
            decision,
            self._ids,
            tuple(self._spent()),
        )

    def _spent(self) -> Iterator[str]:
        if self._explored.trace.spent:
            yield "explore"
        if self.runs.cut:
            yield "tries"


def _last_moments(request: PlanRequest) -> Moments | None:
    """Of the day as it was forecast first: while it lasts, joins keep the orders they had. None
    where the day has one run only."""
    sources = request.first_sources or request.sources
    if len(request.points) < 2:
        return None
    before, after = (estimator(sources, point) for point in request.points[-2:])
    return before, after


def _finds(explored: Explored) -> set[str]:
    """The rules of methods that have found something."""
    found = {name for name, count in explored.trace.found.items() if count}
    return found - {tree.name for tree in EXPLORE}


def _seeds(one: Planned, other: Planned) -> Iterator[Seed]:
    """What the plan of one method keeps, as chains of another one's memo."""
    chosen = one.decision.chosen.chosen
    if chosen is None:
        return
    known = {other.families.fingerprint(kept, 0): kept for kept in all_chains(other.space)}
    found = ((one.families.fingerprint(kept, 0), index) for kept, index in chosen.used)
    kept = frozenset((known[digest], index) for digest, index in found if digest in known)
    yield Seed(one.decision.chosen.opened, kept)
