"""Scalar expressions: references, literals and calls. Nothing else.

Every operator, function, CASE, CAST, LIKE or IN list is a :class:`Call` with a lower-case name, so
that a walk over scalars has three cases. Names with a fixed argument shape:

==================  =======================================================================
``case``            condition, value, condition, value, ..., else value (always present)
``cast``/``try_cast``  one argument; the target is the call's type
``in``              the value, then the list
``like``            the value, the pattern, optionally the escape character
``and`` ``or``      two operands or more: a chain of a thousand is one call, not a deep tree
``not`` ``isnull`` ``isnotnull`` ``neg`` and the infix operators
                    ``+ - * / % || = <=> <> < <= > >=``, as one would expect
==================  =======================================================================

Anything else is a Spark function of that name with positional arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from forerun.planner.algebra.clock_texts import is_by_clock, taken_as
from forerun.planner.algebra.spark_functions import NOT_DETERMINISTIC
from forerun.planner.algebra.types import BOOLEAN, Column, ColumnId, DataType
from forerun.planner.errors import TooDeepError

INFIX = frozenset({"+", "-", "*", "/", "%", "||", "=", "<=>", "<>", "<", "<=", ">", ">="})
CONNECTIVES = frozenset({"and", "or"})
COMPARISONS = frozenset({"=", "<=>", "<>", "<", "<=", ">", ">="})


@dataclass(frozen=True, slots=True)
class Ref:
    """The value of a column of the input."""

    column: Column

    @property
    def type(self) -> DataType:
        return self.column.type


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant. ``text`` is the value as Spark prints it in a CAST from string; None is NULL."""

    text: str | None
    type: DataType


MOST_NESTED = 500
"""How many calls may be nested in one another. Functions over scalars recurse, and so do Spark's
parser and optimizer, which run out of stack not far above."""


@dataclass(frozen=True, eq=False)
class Call:
    """An operator or function applied to arguments. Its hash, its depth and what it reads are
    asked for again and again, and computed once. Raises
    :class:`forerun.planner.errors.TooDeepError` when it would be nested more than
    :data:`MOST_NESTED` deep."""

    name: str
    args: tuple[Scalar, ...]
    type: DataType
    _hash: int = field(init=False, repr=False, compare=False)
    depth: int = field(init=False, repr=False, compare=False)

    @cached_property
    def references(self) -> frozenset[ColumnId]:
        """Ids of the columns it reads."""
        return frozenset(node.column.id for node in walk(self) if isinstance(node, Ref))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Structural equality, without recursion."""
        if not isinstance(other, Call):
            return NotImplemented
        stack: list[tuple[Scalar, Scalar]] = [(self, other)]
        while stack:
            one, two = stack.pop()
            if one is two:
                continue
            if not isinstance(one, Call) or not isinstance(two, Call):
                if isinstance(one, Call) or isinstance(two, Call) or one != two:
                    return False
                continue
            if one._hash != two._hash or len(one.args) != len(two.args):
                return False
            if one.name != two.name or one.type != two.type:
                return False
            stack.extend(zip(one.args, two.args, strict=True))
        return True

    def __post_init__(self) -> None:
        # At once, while the arguments have theirs, so that neither is computed by recursion.
        object.__setattr__(self, "_hash", hash((self.name, self.args, self.type)))
        depth = 1 + max((a.depth for a in self.args if isinstance(a, Call)), default=0)
        object.__setattr__(self, "depth", depth)
        if depth > MOST_NESTED:
            raise TooDeepError("an expression", depth, MOST_NESTED)
        if self.name in CONNECTIVES and len(self.args) < 2:
            raise ValueError(f"{self.name} takes two arguments or more, not {len(self.args)}")
        if self.name != self.name.lower():
            raise ValueError(f"call names are lower case, not {self.name!r}")
        if self.name in INFIX and len(self.args) != 2:
            raise ValueError(f"{self.name} takes two arguments, not {len(self.args)}")
        if self.name == "case" and (len(self.args) < 3 or len(self.args) % 2 == 0):
            raise ValueError("case takes condition and value pairs and an else value")


Scalar = Ref | Literal | Call

_NOTHING: frozenset[ColumnId] = frozenset()
TRUE = Literal("true", BOOLEAN)
FALSE = Literal("false", BOOLEAN)


def walk(expression: Scalar) -> Iterator[Scalar]:
    """Every sub-expression, the expression itself first, in a fixed order."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, Call):
            stack.extend(reversed(node.args))


def references(expression: Scalar) -> frozenset[ColumnId]:
    """Ids of the columns an expression reads."""
    if isinstance(expression, Call):
        return expression.references
    return frozenset((expression.column.id,)) if isinstance(expression, Ref) else _NOTHING


def substitute(expression: Scalar, by: Mapping[ColumnId, Scalar]) -> Scalar:
    """The expression with references replaced; columns that are not in ``by`` stay."""
    if isinstance(expression, Ref):
        return by.get(expression.column.id, expression)
    if isinstance(expression, Literal):
        return expression
    args = tuple(substitute(arg, by) for arg in expression.args)
    return expression if args == expression.args else Call(expression.name, args, expression.type)


def operands(connective: str, scalar: Scalar) -> tuple[Scalar, ...]:
    """The operands of AND or OR, with chains of the same connective inside one another flattened.
    A scalar that is no such call is its own only operand."""
    if not isinstance(scalar, Call) or scalar.name != connective:
        return (scalar,)
    found: list[Scalar] = []
    stack = list(reversed(scalar.args))
    while stack:
        part = stack.pop()
        if isinstance(part, Call) and part.name == connective:
            stack.extend(reversed(part.args))
        else:
            found.append(part)
    return tuple(found)


def connected(connective: str, parts: Sequence[Scalar]) -> Scalar:
    """The parts joined by AND or OR, as one call; a single part is itself. A first part that is
    such a chain is continued. Raises ValueError for no parts."""
    first, *rest = parts
    if not rest:
        return first
    begun = first.args if isinstance(first, Call) and first.name == connective else (first,)
    return Call(connective, (*begun, *rest), BOOLEAN)


def conjuncts(predicate: Scalar) -> tuple[Scalar, ...]:
    """The parts of a conjunction, flattened; TRUE has none."""
    return tuple(part for part in operands("and", predicate) if part != TRUE)


def conjunction(parts: tuple[Scalar, ...]) -> Scalar:
    """The conjunction of the parts; TRUE for none."""
    return connected("and", parts) if parts else TRUE


def is_deterministic(expression: Scalar) -> bool:
    """False if two evaluations over the same row may differ."""
    return not any(isinstance(node, Call) and _varies(node) for node in walk(expression))


def value_places(case: Call) -> tuple[int, ...]:
    """Return which arguments of a CASE are its values: one after each condition, and the last."""
    return (*range(1, len(case.args) - 1, 2), len(case.args) - 1)


def _varies(call: Call) -> bool:
    if call.name in NOT_DETERMINISTIC:
        return True
    if call.name == "unix_timestamp" and not call.args:
        return True
    if call.name in ("cast", "try_cast"):
        to, taken = call.type.name, call.args
        return to in _MOMENTS and _is_moment_by_clock(taken[0], to)
    if not (to := taken_as(call.name)):
        return False
    # A second argument is a pattern, by which a text says what it says.
    patterned = call.name in _BY_PATTERN and len(call.args) > 1
    return not patterned and any(_is_moment_by_clock(arg, to) for arg in call.args)


_MOMENTS = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
_BY_PATTERN = (
    "to_date", "to_timestamp", "to_timestamp_ltz", "to_timestamp_ntz", "try_to_date",
    "try_to_timestamp",
)  # fmt: skip


def _is_moment_by_clock(value: Scalar, to: str) -> bool:
    """Return whether a text that is made a moment may be another one each time: a constant by what
    it says, one that is computed of constants always, for it may say anything; and a column as a
    TIMESTAMP where a row may hold a time alone."""
    if value.type.name != "STRING":
        return False
    if isinstance(value, Literal):
        return value.text is not None and is_by_clock(value.text)
    return not references(value) or to == "TIMESTAMP"


def equals(left: Column, right: Column) -> Call:
    return Call("=", (Ref(left), Ref(right)), BOOLEAN)
