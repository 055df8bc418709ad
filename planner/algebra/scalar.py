"""Scalar expressions: references, literals and calls. Nothing else.

Every operator, function, CASE, CAST, LIKE or IN list is a :class:`Call` with a lower-case name, so
that a walk over scalars has three cases. Names with a fixed argument shape:

==================  =======================================================================
``case``            condition, value, condition, value, ..., else value (always present)
``cast``/``try_cast``  one argument; the target is the call's type
``in``              the value, then the list
``like``            the value, the pattern, optionally the escape character
``and`` ``or`` ``not`` ``isnull`` ``isnotnull`` ``neg`` and the infix operators
                    ``+ - * / % || = <=> <> < <= > >=``, as one would expect
==================  =======================================================================

Anything else is a Spark function of that name with positional arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from planner.algebra.types import BOOLEAN, Column, ColumnId, DataType

INFIX = frozenset({"+", "-", "*", "/", "%", "||", "=", "<=>", "<>", "<", "<=", ">", ">="})
COMPARISONS = frozenset({"=", "<=>", "<>", "<", "<=", ">", ">="})
NOT_DETERMINISTIC = frozenset({
    "rand", "randn", "random", "uuid", "shuffle", "monotonically_increasing_id",
    "spark_partition_id", "input_file_name", "current_timestamp", "now", "localtimestamp",
    "current_date", "curdate", "unix_timestamp0", "randstr", "uniform",
})  # fmt: skip


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


@dataclass(frozen=True)
class Call:
    """An operator or function applied to arguments. Its hash and what it reads are asked for again
    and again, and computed once."""

    name: str
    args: tuple[Scalar, ...]
    type: DataType
    _hash: int = field(init=False, repr=False, compare=False)

    @cached_property
    def references(self) -> frozenset[ColumnId]:
        """Ids of the columns it reads."""
        return frozenset(node.column.id for node in walk(self) if isinstance(node, Ref))

    def __hash__(self) -> int:
        return self._hash

    def __post_init__(self) -> None:
        # At once, while the arguments have theirs: depth is no limit.
        object.__setattr__(self, "_hash", hash((self.name, self.args, self.type)))
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


def conjuncts(predicate: Scalar) -> tuple[Scalar, ...]:
    """The parts of a conjunction, flattened; TRUE has none."""
    if isinstance(predicate, Call) and predicate.name == "and":
        return tuple(part for arg in predicate.args for part in conjuncts(arg))
    return () if predicate == TRUE else (predicate,)


def conjunction(parts: tuple[Scalar, ...]) -> Scalar:
    """The conjunction of the parts; TRUE for none."""
    if not parts:
        return TRUE
    result = parts[0]
    for part in parts[1:]:
        result = Call("and", (result, part), BOOLEAN)
    return result


def is_deterministic(expression: Scalar) -> bool:
    """False if two evaluations over the same row may differ."""
    return not any(isinstance(n, Call) and n.name in NOT_DETERMINISTIC for n in walk(expression))


def equals(left: Column, right: Column) -> Call:
    return Call("=", (Ref(left), Ref(right)), BOOLEAN)
