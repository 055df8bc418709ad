"""The records of a memo: groups of expressions, and the time-varying relations (TVRs) whose
versions the groups are, with the edges that lead from a TVR to its versions and to the TVRs that
play a role in it. :mod:`forerun.planner.memo.memo` says what they mean together."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from forerun.planner.algebra.relational import Relation, Version
from forerun.planner.algebra.types import Column
from forerun.planner.memo.reference import Reference
from forerun.planner.props.repeatable import Repeated, Repeats

GroupId = int
ExprId = int
TvrId = int


class View(StrEnum):
    """The form in which a group holds a TVR (docs/reference/words.md, "view")."""

    ROWS = "rows"
    WEIGHTED = "weighted"
    STATES = "states"
    LOSSES = "losses"
    """Partial states of the rows that came, with a count of those taken back: groups that lost a
    row are recomputed, because their functions cannot subtract."""
    CONTENDERS = "contenders"
    """Rows that were among the first of their partition when they came: what came with them or
    before can put them out, and the others are out already."""
    WHOLE = "whole"
    """All rows as they are in one run. What the next one reads of it is OLD; nothing is added."""
    SPLIT = "split"
    """The NEW rows as a union of what there was and of what the step brings: OLD of one input of a
    join joined, plus its delta joined; or OLD without the partitions that the step touches, plus
    these computed again."""
    SINGLES = "singles"
    """A delta with one state per row, for readers that merge the states anyway."""
    DOMAIN = "domain"
    """Of a delta: the groups of an aggregate that the step touches, with all that is kept of them
    merged. Outside of its domain a delta changes nothing."""


class Role(StrEnum):
    """The part that one TVR plays in the decomposition of another one (Tempura 4.2), or the rows
    that suffice to compute it (``CONTENDERS``)."""

    POSITIVE = "QP"
    NEGATIVE = "QN"
    DIRECT = "QD"
    INDIRECT = "QI"
    UNAFFECTED = "QU"
    INDEPENDENT = "M"
    CONTENDERS = "K"


Edge = tuple[Version, View] | Role
"""What leads from a TVR: a version and a view to a group, a role to other TVRs."""


@dataclass(slots=True, eq=False)
class Expression:
    """An operator whose inputs are references to groups.

    ``origin`` is the name of the rule that added it, or empty for an operator of the query.
    ``dropped`` is set when a merge of groups made it a duplicate of another expression. ``inputs``
    are the references among the operator's inputs, in order."""

    id: ExprId
    node: Relation
    group: GroupId
    origin: str
    dropped: bool = False
    inputs: tuple[Reference, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.inputs = tuple(i for i in self.node.inputs if isinstance(i, Reference))

    def readdress(self, inputs: tuple[Relation, ...]) -> None:
        """Let the operator read other inputs."""
        self.node = self.node.with_inputs(inputs)
        self.__post_init__()


@dataclass(slots=True, eq=False)
class Group:
    """Expressions that give the same rows; ``parents`` are the expressions that read them.

    ``step`` is True if the rows depend on both ends of the step, False for a snapshot."""

    id: GroupId
    columns: tuple[Column, ...]
    step: bool
    expressions: list[ExprId] = field(default_factory=list)
    parents: list[ExprId] = field(default_factory=list)
    tvr: TvrId | None = None
    merged_into: GroupId | None = None


@dataclass(slots=True, eq=False)
class Tvr:
    """A time-varying relation: the snapshot group ``new`` and, in ``edges``, its other versions.

    ``changing`` is True if it reads a source that grows. ``repeated`` says whether recomputation
    gives the same rows. ``weight`` is the weight column of its delta; None if the delta takes
    nothing back or does not exist (yet). ``roles`` lists the TVRs that it decomposes into, by role
    and by the TVR that is updated (None if the role holds for any update)."""

    id: TvrId
    new: GroupId
    changing: bool
    repeated: Repeated = field(default_factory=Repeated)
    weight: Column | None = None
    edges: dict[tuple[Version, View], GroupId] = field(default_factory=dict)
    roles: dict[tuple[Role, TvrId | None], tuple[TvrId, ...]] = field(default_factory=dict)

    @property
    def repeats(self) -> Repeats:
        """Return how well it repeats with all of its columns."""
        return self.repeated.whole

    @property
    def has_delta(self) -> bool:
        """Return whether a DELTA version of the rows was found."""
        return (Version.DELTA, View.ROWS) in self.edges

    def has(self, edge: Edge) -> bool:
        """Return whether an edge leads from the TVR; of a role, for any update."""
        if isinstance(edge, Role):
            return any(role is edge for role, _ in self.roles)
        return edge in self.edges
