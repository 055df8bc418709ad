"""OJV: maintains outer joins by what an update changes directly, indirectly and not at all
(Tempura 4.2 (2)).

For one leaf T of a block of inner and outer joins
(:mod:`forerun.planner.rules.join_block`)::

    Q   =  QD + QI + QU                                                        (4a)
    QD     the rows of Q that have a row of T: Q with every outer join on the way from T to the root
           keeping no more than T's side. It is linear in T, so dQD is the same over dT.
    QI     rows of the other sides that T leaves without a partner, extended by NULLs
    QU     rows without T that no row of T can be a partner of

While all other leaves stay as they are, T's update changes QD by dQD. For every side X that an
outer join on the way keeps, let S = X semi dQD, the rows of X that dT can be a partner of; then::

    dQI =  nulls(S anti R_after)  -  nulls(S anti R_before)                    (4b)

R decides whether a row of X has a partner (the core of T's side: the leaves that the parents of X
in the join-disjunctive normal form add to it). The paper computes (4b) from dQD and Q_old alone. On
bags with deletions that is not possible: that one partner went does not say whether another is
left, so R_after is read. An insertion leaves no row of S alone. If T is the first leaf below X's
join to be updated, the rows without a partner before are in the old rows of that join::

    nulls(S anti R_before)  =  (rows of Q_old with X and without T) semi dQD

NULLs: a condition that is NULL or false where a leaf is all NULL pairs nothing with a null-extended
row, so these parts need not be joined again further up; that is checked first
(``join-condition-accepts-nulls``). Bags: rows of S have their multiplicity in X, and semi and anti
joins only test for a partner. Retractions: dT may take rows back; dQD carries its weights, S only
selects the rows concerned, and both terms of (4b) are then computed in full.

Leaves are updated one at a time, at virtual time points. Larson and Zhou, "Efficient maintenance of
materialized outer-join views", ICDE 2007.
"""

from __future__ import annotations

from dataclasses import dataclass

from forerun.planner.algebra.predicates import null_rejected, rejects_nulls_of
from forerun.planner.algebra.relational import (
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    UnionAll,
    Version,
)
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar, references, substitute
from forerun.planner.algebra.types import BIGINT, BOOLEAN, Column, ColumnId
from forerun.planner.errors import Reason
from forerun.planner.memo.groups import Role, Tvr, View
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Reference
from forerun.planner.props.repeatable import Repeats
from forerun.planner.rules import join_block
from forerun.planner.rules.explore.catalog import LOCAL
from forerun.planner.rules.incremental import foreign_key
from forerun.planner.rules.incremental.join import weighted_join
from forerun.planner.rules.incremental.memo_rules import add_delta, without
from forerun.planner.rules.join_block import Branch, Leaf, Tree, columns_of, leaves, tvr_of
from forerun.planner.rules.methods.domain import DOMAIN
from forerun.planner.rules.methods.method import Method, WhyNot
from forerun.planner.search.rule import Match, MemoRule
from forerun.planner.tvr.signed import ColumnIds, Signed, with_weight

_SOURCE = "Tempura 4.2 (2); Larson and Zhou, ICDE 2007"


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of Q without rows of T. ``nulls`` are the columns that are NULL in all its rows;
    ``affected`` is True for QI, False for QU."""

    rows: Signed
    nulls: frozenset[ColumnId]
    affected: bool = True


class _Decomposition:
    """Computes the direct part of a block for one leaf, and its other parts, on snapshots (4a)."""

    def __init__(self, memo: Memo, leaf: Leaf, ids: ColumnIds) -> None:
        self._memo = memo
        self._leaf = leaf
        self._ids = ids

    def of(self, tree: Tree) -> tuple[Signed, tuple[_Part, ...]]:
        """Return the direct part of a tree that contains the leaf, and its other parts."""
        if isinstance(tree, Leaf):
            return self._rows_of_leaf(), ()
        sub, other = (
            (tree.left, tree.right) if self._has_leaf(tree.left) else (tree.right, tree.left)
        )
        full, left = tree.kind is JoinKind.FULL, tree.kind is JoinKind.LEFT
        kind = JoinKind.LEFT if full or (left and sub is tree.left) else JoinKind.INNER
        direct, below = self.of(sub)
        parts = []
        for part in below:
            if rejects_nulls_of(tree.condition, part.nulls):
                if kind is JoinKind.LEFT:
                    parts.append(_filled(part, other))
            else:
                parts.append(
                    _Part(self._joined(kind, tree, part.rows, sub), part.nulls, part.affected)
                )
        if full or (left and sub is tree.right):
            parts.extend(self._alone(tree, sub, other, direct))
        joined = self._joined(kind, tree, direct, sub)
        if tree.given == tree.joined:
            return joined, tuple(parts)
        columns = tree.given.columns
        return _only(joined, columns), tuple(
            _Part(_only(p.rows, columns), p.nulls, p.affected) for p in parts
        )

    def _has_leaf(self, tree: Tree) -> bool:
        return any(leaf.number == self._leaf.number for leaf in leaves(tree))

    def _joined(self, kind: JoinKind, branch: Branch, rows: Signed, sub: Tree) -> Signed:
        other = branch.right if sub is branch.left else branch.left
        if kind is not JoinKind.INNER:
            join = Join(kind, sub.given, other.given, branch.condition)
            return weighted_join(join, rows, Signed(self._plain(other)), self._ids)
        sides = (rows, self._version(other))
        join = Join(kind, branch.left.given, branch.right.given, branch.condition)
        return weighted_join(join, *(sides if sub is branch.left else sides[::-1]), self._ids)

    def _core(self, branch: Branch, sub: Tree) -> Tree:
        read = references(branch.condition) & columns_of(sub)
        return join_block.core(self._memo, sub, read)

    def _rows_of_leaf(self) -> Signed:
        return Signed(self._leaf.given)

    def _plain(self, tree: Tree) -> Relation:
        return tree.given

    def _version(self, tree: Tree) -> Signed:
        return Signed(tree.given)

    def _alone(
        self,
        branch: Branch,
        sub: Tree,
        other: Tree,
        direct: Signed,  # noqa: ARG002 - the subclass for updates reads it
    ) -> list[_Part]:
        core = self._core(branch, sub)
        alone = Join(JoinKind.ANTI, other.given, core.given, branch.condition)
        rows = _extended(Signed(alone), sub)
        return [_Part(rows, columns_of(sub), self._has_leaf(core))]


@dataclass(frozen=True, slots=True)
class _Orphans:
    """Rows that had no partner before the update, and the join whose old rows contain them."""

    rows: Signed
    branch: Branch
    sub: Tree
    other: Tree
    direct: Signed


class _Update(_Decomposition):
    """Computes dQD and dQI (4b) at the virtual time point at which the leaf is updated."""

    def __init__(self, memo: Memo, leaf: Leaf, ids: ColumnIds) -> None:
        super().__init__(memo, leaf, ids)
        self.orphans: list[_Orphans] = []

    def _rows_of_leaf(self) -> Signed:
        tvr = tvr_of(self._memo, self._leaf.given)
        delta = tvr.edges[Version.DELTA, View.ROWS]
        return Signed(self._memo.reference(delta), tvr.weight)

    def _plain(self, tree: Tree) -> Relation:
        return join_block.at(self._memo, tree, self._leaf.number, after=True)

    def _version(self, tree: Tree) -> Signed:
        tvr, plain = tvr_of(self._memo, tree.given), self._plain(tree)
        weighted = tvr.edges.get((Version.NEW, View.WEIGHTED))
        if weighted is None or not isinstance(plain, Reference):
            return Signed(plain)
        return Signed(self._memo.reference(weighted, before=plain.before), tvr.weight)

    def _alone(self, branch: Branch, sub: Tree, other: Tree, direct: Signed) -> list[_Part]:
        core = self._core(branch, sub)
        if not self._has_leaf(core):
            return []
        kept, number = self._version(other), self._leaf.number
        concerned = Join(JoinKind.SEMI, kept.relation, direct.relation, branch.condition)
        parts = []
        for after in (False, True):
            if after and direct.weight is None:
                continue  # nothing is taken back, so after the update every row of S has a partner
            partners = join_block.at(self._memo, core, number, after=after)
            rows = Join(JoinKind.ANTI, concerned, partners, branch.condition)
            signed = with_weight(
                _extended(Signed(rows, kept.weight), sub), self._ids, sign=1 if after else -1
            )
            signed = Signed(_flat(signed.relation), signed.weight)
            if not after and self._is_first(branch):
                group = self._memo.add(signed.relation, DELTA.name, part=True)
                signed = Signed(self._memo.reference(group), signed.weight)
                self.orphans.append(_Orphans(signed, branch, sub, other, direct))
            parts.append(_Part(signed, columns_of(sub)))
        return parts

    def _is_first(self, branch: Branch) -> bool:
        """Return whether no other leaf below the join has been updated yet."""
        last = join_block.changing_leaves(self._memo, branch)[-1]
        return last.number == self._leaf.number


def _extended(rows: Signed, sub: Tree) -> Signed:
    """Return the rows with NULLs for the columns of a tree."""
    items: list[tuple[Column, Scalar]] = [(c, Ref(c)) for c in rows.relation.columns]
    items += [(c, Literal(None, c.type)) for c in sub.given.columns]
    return Signed(_projected(rows.relation, tuple(items)), rows.weight)


def _filled(part: _Part, other: Tree) -> _Part:
    """Return a part without partners in the other side, null-extended as by an outer join."""
    return _Part(_extended(part.rows, other), part.nulls | columns_of(other), part.affected)


def _only(rows: Signed, columns: tuple[Column, ...]) -> Signed:
    """Return the rows with the given columns, in the given order, and their weight."""
    kept = columns if rows.weight is None else (*columns, rows.weight)
    if kept == rows.relation.columns:
        return rows
    return Signed(_projected(rows.relation, tuple((c, Ref(c)) for c in kept)), rows.weight)


def _flat(relation: Relation) -> Relation:
    return _projected(relation.input, relation.items) if isinstance(relation, Project) else relation


def _projected(relation: Relation, items: tuple[tuple[Column, Scalar], ...]) -> Relation:
    """Return a projection of a relation; a projection of a projection is merged into one."""
    if isinstance(relation, Project):
        values = {column.id: value for column, value in relation.items}
        items = tuple((column, substitute(value, values)) for column, value in items)
        relation = relation.input
    return Project(relation, items)


def _is_outer(match: Match) -> bool:
    node = match.expression.node
    return isinstance(node, Join) and node.kind in (JoinKind.LEFT, JoinKind.FULL)


def _decompose(match: Match) -> bool:
    """Add the parts (4a) of an outer join for each leaf that changes, and relate them to it."""
    memo, tvr = match.memo, match.memo.tvr_of(match.expression.group)
    if not _is_outer(match) or tvr is None or not tvr.changing:
        return False
    if match.expression.origin or tvr.repeats is Repeats.CHOSEN:
        return False  # the parts of parts, and of other forms of the query, have no new meaning
    root = join_block.read_block(memo, match.expression)
    if join_block.reason_against(root) is not None:
        return False
    found = False
    for leaf in join_block.changing_leaves(memo, root):
        direct, parts = _Decomposition(memo, leaf, match.ids).of(root)
        indirect = [part.rows.relation for part in parts if part.affected]
        untouched = [part.rows.relation for part in parts if not part.affected]
        if not indirect:
            continue
        if root.kind is JoinKind.FULL and not found and not tvr.has(Role.POSITIVE):
            whole = UnionAll(
                tuple(_in_order(r, root) for r in (direct.relation, *indirect, *untouched)),
                root.given.columns,
            )
            memo.equate(tvr.new, whole, DECOMPOSE.name)
        updated = tvr_of(memo, leaf.given).id
        roles = ((Role.DIRECT, [direct.relation]), (Role.INDIRECT, indirect))
        for role, relations in (*roles, (Role.UNAFFECTED, untouched)):
            if relations:
                other = memo.tvr_of(memo.add(_union(relations, root), DECOMPOSE.name))
                if other is not None:
                    memo.relate(tvr, role, other.id, updated)
        found = True
    return found


def _in_order(relation: Relation, root: Branch) -> Relation:
    return _only(Signed(relation), root.given.columns).relation


def _union(relations: list[Relation], root: Branch) -> Relation:
    if len(relations) == 1:
        return _in_order(relations[0], root)
    return UnionAll(tuple(_in_order(r, root) for r in relations), root.given.columns)


def _maintain(match: Match) -> bool:
    """Add the delta (4b) of an outer join, one updated leaf after another."""
    memo, tvr = match.memo, match.memo.tvr_of(match.expression.group)
    if not _is_outer(match) or tvr is None or not tvr.changing:
        return False
    root = join_block.read_block(memo, match.expression)
    if join_block.reason_against(root) is not None:
        return False
    changing = join_block.changing_leaves(memo, root)
    if not all(tvr_of(memo, leaf.given).has_delta for leaf in changing):
        return False
    changes, orphans, indirect = [], [], False
    for leaf in reversed(changing):
        update = _Update(memo, leaf, match.ids)
        direct, parts = update.of(root)
        changes += [direct, *(part.rows for part in parts)]
        orphans += update.orphans
        indirect = indirect or bool(parts)
    if not indirect:
        return False  # no partner can arrive, so the rule for static right sides covers it
    if not add_delta(match, tvr, _sum(changes, root, match.ids), DELTA.name):
        return False
    for rows in orphans:
        _read_from_view(memo, rows)
    return True


def _sum(changes: list[Signed], root: Branch, ids: ColumnIds) -> Signed:
    """Return the sum of all changes as one signed bag with the columns of the root."""
    branches = []
    for change in changes:
        weighted = with_weight(change, ids)
        flat = Signed(_flat(weighted.relation), weighted.weight)
        branches.append(_only(flat, root.given.columns))
    weight = ids.weight()
    union = UnionAll(tuple(b.relation for b in branches), (*root.given.columns, weight))
    return Signed(union, weight)


def _read_from_view(memo: Memo, orphans: _Orphans) -> None:
    """Add an alternative for the rows without a partner: read them from the join's old rows."""
    branch, weight = orphans.branch, orphans.rows.weight
    view = tvr_of(memo, branch.joined)
    group = _weighted(view)
    rejected = null_rejected(branch.condition)
    theirs = [c for c in orphans.sub.given.columns if c.id in rejected]
    if group is None or view.weight is None or weight is None or not theirs:
        return
    old = memo.reference(group, before=True)
    # A full join has rows of T's side alone too: without columns of X, they are nobody's partner.
    alone = Call("isnull", (Ref(theirs[0]),), BOOLEAN)
    kept = (*orphans.other.given.columns, view.weight)
    rows = Project(Filter(old, alone), tuple((c, Ref(c)) for c in kept))
    concerned = Join(JoinKind.SEMI, rows, orphans.direct.relation, branch.condition)
    items: list[tuple[Column, Scalar]] = [(c, Ref(c)) for c in orphans.other.given.columns]
    items += [(c, Literal(None, c.type)) for c in orphans.sub.given.columns]
    items.append((weight, Call("neg", (Ref(view.weight),), BIGINT)))
    made = memo.add(orphans.rows.relation, part=True)
    memo.equate(made, Project(concerned, tuple(items)), FROM_VIEW, part=True)


def _weighted(tvr: Tvr) -> int | None:
    return tvr.edges.get((Version.NEW, View.WEIGHTED))


FROM_VIEW = "OrphansOfView"
DECOMPOSE = MemoRule("DirectAndIndirectPart", Join, _decompose, _SOURCE)
DELTA = MemoRule("OuterJoinViewDelta", Join, _maintain, _SOURCE, deltas=True)
OJV: tuple[MemoRule, ...] = (DECOMPOSE, DELTA)


def _why_not(relation: Relation, growing: frozenset[str]) -> WhyNot | None:
    memo = Memo(growing)
    memo.add(relation)
    reason = Reason.NO_OUTER_JOIN
    for expression in memo.take_new_expressions():
        node = expression.node
        if not isinstance(node, Join) or node.kind not in (JoinKind.LEFT, JoinKind.FULL):
            continue
        sides = expression.inputs if node.kind is JoinKind.FULL else expression.inputs[1:]
        if not any(tvr_of(memo, side).changing for side in sides):
            continue
        against = join_block.reason_against(join_block.read_block(memo, expression))
        if against is None:
            return None
        reason = against
    if reason is Reason.NO_OUTER_JOIN:
        return WhyNot(reason, "there is no outer join whose partners may still arrive")
    return WhyNot(reason, "no outer join has a normal form that can be maintained")


METHOD = Method(
    "ojv",
    "OJV: outer joins by what each relation's update changes directly and indirectly",
    (
        *without("OuterJoinDeltaByKey", "OuterJoinDeltaTouchedRows"),
        *(*LOCAL, *OJV, *DOMAIN, foreign_key.RULE),
    ),
    _why_not,
    _SOURCE,
)
