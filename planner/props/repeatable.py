"""Repeatability: whether a relation gives the same rows when it is computed again over the same
data.

A delta must take back exactly the rows that were there, to the bit, and what one run reads must be
what the next one reads. Two kinds of operators break that. A floating-point sum depends on the
order of its terms, which no engine guarantees, so its last digits may differ
(:attr:`Repeats.ROUNDED`). And some operators choose among rows: LIMIT among ties, ``first``, a row
number among equal rows (:attr:`Repeats.CHOSEN`).

A window function that chooses leaves the rows as they are and chooses the values of one column. So
it is told by column: what is computed of the others repeats. Of rows that tie in the order of a
window, the row before (``lag``) of the order's own column is the same value for one of them or
another: which of them has it is chosen, not what there is. So a sum over whole ties of what is
computed of such values repeats again (:class:`Peers`): the sessions of a user, which begin where
the row before is half an hour older, have the same numbers however their events tie.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from forerun.planner.algebra.aggregates.functions import answer_of, function, is_aggregate
from forerun.planner.algebra.aggregates.record import Answer, Rounding
from forerun.planner.algebra.aggregates.types import are_told_apart
from forerun.planner.algebra.dispatch import operator_pass
from forerun.planner.algebra.recursion import Recursion
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Generate,
    Join,
    Limit,
    Project,
    Relation,
    Repeat,
    Scan,
    SetOperation,
    Sort,
    SortKey,
    StateRead,
    UnionAll,
    Values,
    Window,
    WindowCall,
    fold,
)
from forerun.planner.algebra.scalar import TRUE, Ref, Scalar, is_deterministic, references
from forerun.planner.algebra.types import Column, ColumnId


class Repeats(IntEnum):
    """The repeatability of a relation when it is recomputed, from best to worst: always the same
    rows, the same up to rounding, or possibly different rows."""

    ALWAYS = 0
    ROUNDED = 1
    CHOSEN = 2


@dataclass(frozen=True, slots=True)
class Peers:
    """The rows that tie in the order of a window, within a partition, by columns that are the same
    where they are equal (0.0 and -0.0 are not): how often each value of another column occurs among
    them repeats, and which of them has it does not. ``made_by`` is a column of
    the window: two of different windows may choose each in its own way."""

    partition: frozenset[ColumnId]
    order: tuple[SortKey, ...]
    made_by: ColumnId

    @property
    def columns(self) -> frozenset[ColumnId]:
        """Return the columns that are equal among the rows."""
        return self.partition | {key.column.id for key in self.order}

    def renamed(self, names: Mapping[ColumnId, Column]) -> Peers | None:
        """Return the same by other columns; None if one of them is not handed on."""
        if not self.columns <= names.keys():
            return None
        order = (SortKey(names[k.column.id], k.ascending, k.nulls_first) for k in self.order)
        return Peers(frozenset(names[id_].id for id_ in self.partition), tuple(order), self.made_by)


@dataclass(frozen=True, slots=True)
class Repeated:
    """Tells how well a relation repeats, by column: its ``rows`` without the columns that are
    ``chosen``, and for each of these among which rows its values are, if they repeat there.

    How often each combination occurs of columns that are chosen among the same rows, and of those
    that are equal among them, repeats as well.
    """

    rows: Repeats = Repeats.ALWAYS
    chosen: Mapping[ColumnId, Peers | None] = field(default_factory=dict)

    @property
    def whole(self) -> Repeats:
        """Return how well it repeats with all of its columns."""
        return Repeats.CHOSEN if self.chosen else self.rows

    def peers_of(self, read: frozenset[ColumnId]) -> Peers | None:
        """Return among which rows these columns are chosen, if how often each combination of them
        occurs repeats; None if it need not, and if none of them is chosen."""
        chosen = {self.chosen[id_] for id_ in read & self.chosen.keys()}
        peers = chosen.pop() if len(chosen) == 1 else None
        return peers if peers and read <= self.chosen.keys() | peers.columns else None

    def is_chosen(self, read: frozenset[ColumnId]) -> bool:
        """Return whether any of these columns is chosen."""
        return not read.isdisjoint(self.chosen)


RANKS = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})
"""Window functions that give the same value to rows that tie in the order."""


BY_PLACE = frozenset({"row_number", "ntile", "lag", "lead"})
"""Window functions whose value depends on nothing of a row but its place in the order, if their
arguments are equal among rows that tie."""


Known = Sequence[Repeated]


@operator_pass("repeatability")
def of_node(node: Relation, below: Known, inputs: Sequence[Relation]) -> Repeated:
    """Return how well an operator repeats, given that of each input (``below``) and the operators
    of the inputs."""
    raise NotImplementedError


def repeats(relation: Relation) -> Repeats:
    """Return how well a relation repeats as a whole."""
    return fold(relation, lambda node, below: of_node(node, below, node.inputs)).whole


@of_node.register(Scan, StateRead, Values, SetOperation, Repeat, Recursion)
def _of_rows(_: Relation, below: Known, __: Sequence[Relation]) -> Repeated:
    return Repeated(max((one.whole for one in below), default=Repeats.ALWAYS))


@of_node.register(Sort)
def _of_sort(_: Sort, below: Known, __: Sequence[Relation]) -> Repeated:
    return _of_all(below)


@of_node.register(UnionAll)
def _of_union(node: UnionAll, below: Known, inputs: Sequence[Relation]) -> Repeated:
    if len(below) < len(node.branches):
        return _of_rows(node, below, inputs)
    chosen = {
        column.id
        for branch, one in zip(node.branches, below, strict=True)
        for column, own in zip(node.merged, branch.columns, strict=True)
        if own.id in one.chosen
    }
    return Repeated(_of_all(below).rows, dict.fromkeys(chosen))


@of_node.register(Filter)
def _of_filter(node: Filter, below: Known, _: Sequence[Relation]) -> Repeated:
    known, read = _of_all(below), references(node.predicate)
    kept = {
        id_: peers if peers and read <= peers.columns else None
        for id_, peers in known.chosen.items()
    }
    return Repeated(_told_by(node.predicate, known), kept)


@of_node.register(Generate)
def _of_generate(node: Generate, below: Known, _: Sequence[Relation]) -> Repeated:
    known = _of_all(below)
    return Repeated(_told_by(node.call, known), dict.fromkeys(known.chosen))


@of_node.register(Project)
def _of_project(node: Project, below: Known, _: Sequence[Relation]) -> Repeated:
    known = _of_all(below)
    if not all(is_deterministic(scalar) for _, scalar in node.items):
        return Repeated(Repeats.CHOSEN)
    if _alone((scalar for _, scalar in node.items), frozenset(), known) is not Repeats.CHOSEN:
        return Repeated(known.rows)
    names = {v.column.id: column for column, v in reversed(node.items) if isinstance(v, Ref)}
    chosen: dict[ColumnId, Peers | None] = {}
    for column, scalar in node.items:
        if known.is_chosen(read := references(scalar)):
            peers = known.peers_of(read)
            chosen[column.id] = peers.renamed(names) if peers else None
    return Repeated(known.rows, chosen)


@of_node.register(Join)
def _of_join(node: Join, below: Known, _: Sequence[Relation]) -> Repeated:
    known, here = _of_all(below), {column.id for column in node.columns}
    chosen = dict.fromkeys(id_ for id_ in known.chosen if id_ in here)
    return Repeated(_told_by(node.condition, known), chosen)


@of_node.register(Aggregate)
def _of_aggregate(node: Aggregate, below: Known, _: Sequence[Relation]) -> Repeated:
    known, keys = _of_all(below), frozenset(key.id for key in node.keys)
    calls = [call for _, call in node.calls]
    read = [_alone((*call.args, call.where or TRUE), keys, known) for call in calls]
    return Repeated(max([_alone((), keys, known), *read, *map(of_call, calls)]))


@of_node.register(Window)
def _of_windows(node: Window, below: Known, _: Sequence[Relation]) -> Repeated:
    known = _of_all(below)
    rows, chosen = [known.rows], dict(known.chosen)
    for column, call in node.calls:
        found = _of_window(column, call)
        read = frozenset().union(*map(references, call.args))
        columns = (*call.partition, *(key.column for key in call.order))
        places = frozenset(column.id for column in columns)
        if known.is_chosen(places) or (
            known.is_chosen(read) and not _is_over_peers(call, known.peers_of(read))
        ):
            chosen[column.id] = None
        elif found is Repeats.CHOSEN:
            by_place = call.name in BY_PLACE and read <= places
            same = all(are_told_apart((one.type,)) for one in columns)
            partition = frozenset(c.id for c in call.partition)
            peers = Peers(partition, call.order, node.calls[0][0].id)
            chosen[column.id] = peers if by_place and same else None
        else:
            rows.append(found)
    return Repeated(max(rows), chosen)


def _is_over_peers(call: WindowCall, peers: Peers | None) -> bool:
    """Return whether a function takes all rows that tie, or none of them."""
    if peers is None or {c.id for c in call.partition} != peers.partition:
        return False
    return not call.order or call.order == peers.order


@of_node.register(Limit)
def _of_limit(node: Limit, below: Known, inputs: Sequence[Relation]) -> Repeated:
    cut = isinstance(inputs[0], Sort) and _tells_all_apart(inputs[0])
    whole = max((one.whole for one in below), default=Repeats.ALWAYS)
    return Repeated(whole if cut or node.count == 0 else Repeats.CHOSEN)


def _of_all(below: Known) -> Repeated:
    """Return how well the rows of all inputs repeat, side by side."""
    chosen = {id_: peers for one in below for id_, peers in one.chosen.items()}
    return Repeated(max((one.rows for one in below), default=Repeats.ALWAYS), chosen)


def _told_by(scalar: Scalar, known: Repeated) -> Repeats:
    """Return how well rows repeat of which a scalar tells how often each is there."""
    chosen = not is_deterministic(scalar) or known.is_chosen(references(scalar))
    return Repeats.CHOSEN if chosen else known.rows


def _alone(scalars: Iterable[Scalar], keys: frozenset[ColumnId], known: Repeated) -> Repeats:
    """Return how well these scalars and keys repeat, of which nothing else of a row is read."""
    read = keys
    for scalar in scalars:
        if not is_deterministic(scalar):
            return Repeats.CHOSEN
        read |= references(scalar)
    return Repeats.CHOSEN if known.is_chosen(read) and not known.peers_of(read) else known.rows


def of_call(call: AggregateCall) -> Repeats:
    """Return how well the value of an aggregate call repeats over the same bag of rows."""
    if answer_of(call) is not Answer.BAG:
        return Repeats.CHOSEN
    rounded = function(call.name).is_rounded(tuple(arg.type for arg in call.args))
    return Repeats.ROUNDED if rounded else Repeats.ALWAYS


def _of_window(column: Column, call: WindowCall) -> Repeats:
    if call.name in RANKS:
        return Repeats.ALWAYS
    if not is_aggregate(call.name) or (call.order and call.frame):
        return Repeats.CHOSEN  # numbers and row frames tell rows apart that tie in the order
    found = of_call(AggregateCall(call.name, call.args, call.distinct))
    exact = column.type.is_known and not column.type.is_floating
    adds_up = function(call.name).rounding is not Rounding.NEVER
    return found if exact or not adds_up else max(found, Repeats.ROUNDED)


def _tells_all_apart(node: Sort) -> bool:
    """Return whether a sort has all columns as keys: rows that tie are then equal, so it does not
    matter which of them a LIMIT takes."""
    return {c.id for c in node.columns} <= {key.column.id for key in node.keys}
