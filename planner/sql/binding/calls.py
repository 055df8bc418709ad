"""Calls of scalar functions: names and arguments as written, coerced where Spark coerces."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from forerun.planner.algebra.aggregates.functions import is_aggregate
from forerun.planner.algebra.functions import GENERATORS, WINDOW_ONLY, result_type
from forerun.planner.algebra.nested import (
    FIELD,
    TIME_WINDOW,
    array_of,
    element_type,
    struct_of,
)
from forerun.planner.algebra.scalar import Call, Literal, Scalar, references
from forerun.planner.algebra.signatures import misfit, numbers
from forerun.planner.algebra.spark_functions import (
    KINDS,
    ONLY_TEXT,
    FunctionKind,
    is_refused,
)
from forerun.planner.algebra.type_kinds import can_cast, is_ordered, kind_of
from forerun.planner.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    DataType,
    parse_type,
)
from forerun.planner.sql.binding import literals, moments
from forerun.planner.sql.binding.binder import Binder
from forerun.planner.sql.binding.coercion import arithmetic, cast, compare, unify
from forerun.planner.sql.binding.going_together import GOING_TOGETHER
from forerun.planner.sql.binding.lambdas import higher_order
from forerun.planner.sql.binding.shown import CASTS, SIDES, field_name
from forerun.planner.sql.syntax.parser import UNIT_FIRST

_QUANTIFIERS = {"some", "any"}
"""Words that stand before a subquery too: ``x = ANY (SELECT ...)``."""
_COMMON = {"coalesce", "nvl", "ifnull", "greatest", "least"}


def function(binder: Binder, node: exp.Expr) -> Scalar:
    """A call in the form ``name(arguments)``."""
    name = str(node.name if not isinstance(node.this, str) else node.this).lower()
    if name in WINDOW_ONLY:
        raise binder.text.error(node, f"{name} needs an OVER clause")
    if is_aggregate(name) and not (name in _QUANTIFIERS and not node.expressions):
        raise binder.text.error(
            node,
            f"the aggregate function {name} is not allowed here",
            "aggregates stand in SELECT, HAVING and ORDER BY, not inside one another",
        )
    if name in GENERATORS:
        hint = "write it alone as an item of SELECT, or as LATERAL VIEW"
        raise binder.text.unsupported(node, f"the generator {name} in this place", hint)
    arguments = node.expressions
    _check_known(binder, node, name)
    if name in UNIT_FIRST and len(arguments) != 2:
        require_count(binder, node, name, len(arguments))
        return moments.with_unit(binder, name, arguments)
    if name in ("date_part", "datepart") and (field := moments.named_field(arguments)):
        return moments.part(binder, node, field, arguments[1])
    if any(isinstance(argument, exp.Lambda) for argument in arguments):
        return higher_order(binder, node, name, arguments)
    _require_values(binder, name, arguments)
    bound = tuple(binder.bind(argument) for argument in arguments)
    node.meta[SIDES] = tuple(argument.type for argument in bound)
    require_fit(binder, node, name, bound)
    if name == "arrays_zip" and (zipped := _zipped(arguments, bound)) is not None:
        return zipped
    if name in ONLY_TEXT:
        binder.context.session.only_text.append(ONLY_TEXT[name])
    if name == "struct":
        name, bound = "named_struct", _named(arguments, bound)
    return call(binder, node, name, bound)


NAME_COLUMNS = "it means all columns in SELECT and WHERE only: name them here"


def _require_values(binder: Binder, name: str, arguments: list[exp.Expr]) -> None:
    for argument in arguments:
        if name == "struct" and isinstance(argument, exp.Alias):
            continue
        if isinstance(argument, exp.Star):
            what = f"* among the arguments of {name} in this place"
            raise binder.text.error(argument, what, NAME_COLUMNS)
        if isinstance(argument, exp.Distinct | exp.Alias | exp.Order):
            raise binder.text.unsupported(
                argument, f"{type(argument).__name__.upper()} inside {name}"
            )


def require_count(binder: Binder, node: exp.Expr, name: str, count: int) -> None:
    """Refuse a call of a function with another number of arguments than it takes."""
    taken = numbers().get(name)
    if taken is not None and count not in taken:
        raise binder.text.error(node, f"{name} does not take {count} arguments")


def require_fit(binder: Binder, node: exp.Expr, name: str, args: tuple[Scalar, ...]) -> None:
    """Refuse a call that Spark refuses: by the number, the types or the constants that it takes. A
    function that the deployment allows takes what it takes."""
    varying = [bool(references(arg)) for arg in args]
    if why := misfit(name, [arg.type for arg in args], varying):
        raise binder.text.error(node, f"{name} {why}")


def _named(arguments: list[exp.Expr], bound: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """The arguments of ``struct`` with their names, of which a stage may have other ones: of what
    has none, ``col`` and its number."""
    pairs = []
    for number, (argument, value) in enumerate(zip(arguments, bound, strict=True), start=1):
        pairs += [Literal(field_name(argument) or f"col{number}", STRING), value]
    return tuple(pairs)


def _zipped(arguments: list[exp.Expr], bound: tuple[Scalar, ...]) -> Scalar | None:
    """A call of ``arrays_zip``, whose fields Spark calls as its arguments are called in the text,
    or by their numbers: a cast names them so in stages, too. None where a type is not known."""
    numbers_, types = [str(n) for n in range(len(bound))], [element_type(v.type) for v in bound]
    names = [field_name(one) or n for one, n in zip(arguments, numbers_, strict=True)]
    if not bound or len(set(names)) < len(names) or not all(type_.is_known for type_ in types):
        return None
    plain, named = (
        array_of(struct_of(list(zip(called, types, strict=True)))) for called in (numbers_, names)
    )
    return Call("cast", (Call("arrays_zip", bound, plain),), named)


def row(binder: Binder, node: exp.Expr) -> Scalar:
    """``(a, b)``, which is ``struct(a, b)``."""
    bound = tuple(binder.bind(part) for part in node.expressions)
    return call(binder, node, "named_struct", _named(node.expressions, bound))


def _check_known(binder: Binder, node: exp.Expr, name: str) -> None:
    """Raise unless the name is that of a scalar function that a report may call."""
    text = binder.text
    if name in binder.context.session.allowed_functions:
        return
    kind = KINDS.get(name)
    if kind is None or kind is FunctionKind.SYNTAX:
        known = [name for name, kind in KINDS.items() if kind is not FunctionKind.SYNTAX]
        raise text.unknown(node, "function", name, known)
    if kind in (FunctionKind.ROWS, FunctionKind.AGGREGATE, FunctionKind.TABLE):
        raise text.unsupported(node, f"{name} ({kind.value})")
    if is_refused(name, len(node.expressions)):
        raise text.refused(node, name, kind.value)


def call(binder: Binder, node: exp.Expr, name: str, args: tuple[Scalar, ...]) -> Scalar:
    """The typed call of a function over bound arguments."""
    if name in CASTS and len(args) == 1:
        to = parse_type(name)
        if not can_cast(args[0].type, to):
            raise binder.text.error(node, f"{args[0].type} cannot be cast to {to}")
        return literals.written_cast(args[0], to)
    if name == "concat":
        return concatenated(binder, node, name, args)
    if name in _SPECIAL and (special := _SPECIAL[name](args)) is not None:
        return special
    if name in _COMMON:
        pair = unify(args)
        mixed = name in _ORDERED and (
            len({_as_text(arg.type) for arg in args} - {None}) > 1
            or not all(is_ordered(arg.type) for arg in args)
        )
        if pair is None or mixed:
            raise binder.text.error(
                node, f"the arguments of {name} have no common type: {_listed(args)}"
            )
        return Call(name, *pair)
    if name in GOING_TOGETHER and not GOING_TOGETHER[name](args):
        raise binder.text.error(node, f"{name} does not take {_listed(args)}")
    if name in _SHIFTS and len(args) == 2:
        return _shifted(binder, node, name, args)
    types = tuple(arg.type for arg in args)
    constants = tuple(arg.text if isinstance(arg, Literal) else None for arg in args)
    return Call(name, args, result_type(name, types, constants))


_ORDERED = ("greatest", "least")


def _as_text(type_: DataType) -> bool | None:
    """Return whether it is a text; None for what may stand beside texts and others."""
    return None if type_ == NULL or not type_.is_known else type_ == STRING


def _listed(args: tuple[Scalar, ...]) -> str:
    return ", ".join(str(arg.type) for arg in args)


_SHIFTS = ("shiftleft", "shiftright", "shiftrightunsigned")


def _shifted(binder: Binder, node: exp.Expr, name: str, args: tuple[Scalar, ...]) -> Scalar:
    """``a << n``: a BIGINT stays one, what is smaller or a text becomes an INT."""
    value, by = args
    for one in args:
        if one.type.is_known and not (one.type.is_integer or one.type in (STRING, NULL)):
            hint = "cast it to INT or BIGINT"
            raise binder.text.unsupported(node, f"{name} of {one.type}", hint)
    to = value.type if value.type.name == "BIGINT" or not value.type.is_known else INT
    return Call(name, (cast(value, to), by), to)


def _modulo(args: tuple[Scalar, ...]) -> Scalar | None:
    return arithmetic("%", *args) if len(args) == 2 else None


def _integral_division(args: tuple[Scalar, ...]) -> Scalar | None:
    return arithmetic("div", *args) if len(args) == 2 else None


def _null_if(args: tuple[Scalar, ...]) -> Scalar | None:
    compared = compare("=", *args) if len(args) == 2 else None
    if not isinstance(compared, Call):
        return None
    return Call("case", (compared, Literal(None, args[0].type), args[0]), args[0].type)


def _nvl2(args: tuple[Scalar, ...]) -> Scalar | None:
    pair = unify(args[1:]) if len(args) == 3 else None
    if pair is None:
        return None
    return Call("case", (Call("isnotnull", (args[0],), BOOLEAN), *pair[0]), pair[1])


def _is_null(args: tuple[Scalar, ...]) -> Scalar | None:
    return Call("isnull", args, BOOLEAN) if len(args) == 1 else None


def _array(args: tuple[Scalar, ...]) -> Scalar | None:
    pair = unify(args)
    return None if pair is None else Call("array", pair[0], array_of(pair[1]))


def _positive(args: tuple[Scalar, ...]) -> Scalar | None:
    """``+ x``: a number as it is; a text becomes one. With the sign a constant is none: beside a
    DECIMAL it has the digits of its type, not those that it is written with."""
    if len(args) != 1:
        return None
    if isinstance(args[0], Literal) and args[0].type.is_integer:
        return Call("positive", args, args[0].type)
    value = cast(args[0], DOUBLE) if args[0].type == STRING else args[0]
    return value if value.type.is_numeric or value.type.name.startswith("INTERVAL") else None


def _steps(args: tuple[Scalar, ...]) -> Scalar | None:
    """``sequence`` of a DATE and a TIMESTAMP, or of integers of several types: of the wider."""
    counted = all(arg.type.is_integer for arg in args)
    if not counted and {arg.type for arg in args[:2]} != {DATE, TIMESTAMP}:
        return None
    wider = unify(args if counted else args[:2])
    if wider is None:
        return None
    args = (*wider[0], *args[len(wider[0]) :])
    return Call("sequence", args, result_type("sequence", tuple(arg.type for arg in args)))


def _window_time(args: tuple[Scalar, ...]) -> Scalar | None:
    """``window_time`` of what ``window()`` gives: the last microsecond in it."""
    if len(args) != 1 or args[0].type != TIME_WINDOW:
        return None
    end = Call(FIELD, (args[0], Literal("end", STRING)), TIMESTAMP)
    last = Call("-", (Call("unix_micros", (end,), BIGINT), Literal("1", BIGINT)), BIGINT)
    return Call("timestamp_micros", (last,), TIMESTAMP)


def _tried(name: str, op: str) -> Callable[[tuple[Scalar, ...]], Scalar | None]:
    """``try_add`` and the like of numbers, which are of the type of the operator's result."""

    def handler(args: tuple[Scalar, ...]) -> Scalar | None:
        if len(args) != 2 or not all(arg.type.is_numeric for arg in args):
            return None
        plain = arithmetic(op, *args)
        return None if plain is None else Call(name, args, plain.type)

    return handler


_TRIED = {
    "try_add": "+", "try_subtract": "-", "try_multiply": "*", "try_divide": "/", "try_mod": "%",
}  # fmt: skip
_SPECIAL: dict[str, Callable[[tuple[Scalar, ...]], Scalar | None]] = {
    "mod": _modulo,
    "div": _integral_division,
    "nullif": _null_if,
    "nvl2": _nvl2,
    "isnull": _is_null,
    "positive": _positive,
    "array": _array,
    "sequence": _steps,
    "window_time": _window_time,
    **{name: _tried(name, op) for name, op in _TRIED.items()},
}


def concatenated(binder: Binder, node: exp.Expr, name: str, parts: tuple[Scalar, ...]) -> Scalar:
    """Strings joined; numbers and dates become strings, nested values stay as they are. Arrays are
    joined with arrays."""
    kinds = [kind_of(part.type) for part in parts]
    if any(kind in ("p", "r") or (kind == "a") is not ("a" in kinds) for kind in kinds if kind):
        listed = ", ".join(str(part.type) for part in parts)
        raise binder.text.error(node, f"{name} does not join {listed}")
    if any(not _is_atomic(part.type) for part in parts):
        return Call(name, parts, result_type(name, tuple(part.type for part in parts)))
    return Call(name, tuple(cast(part, STRING) for part in parts), STRING)


def _is_atomic(type_: DataType) -> bool:
    return type_.is_known and "<" not in type_.name and type_.name not in ("BINARY", "VOID")


def substring(binder: Binder, node: exp.Expr) -> Scalar:
    """``substring(s, from, for)`` and ``SUBSTRING(s FROM a FOR b)``."""
    parts = [node.args.get(key) for key in ("this", "start", "length")]
    args = tuple(binder.bind(part) for part in parts if part is not None)
    require_fit(binder, node, "substring", args[:2])
    if args[0].type == NULL or not _is_atomic(args[0].type):
        return Call("substring", args, STRING if args[0].type == NULL else args[0].type)
    return Call("substring", (cast(args[0], STRING), *args[1:]), STRING)


def trim(binder: Binder, node: exp.Expr) -> Scalar:
    """``trim(s)`` and ``TRIM(LEADING 'x' FROM s)``."""
    given = (node.this, node.args.get("expression"))
    args = tuple(binder.bind(part) for part in given if part is not None)
    require_fit(binder, node, "trim", args)
    args = (cast(args[0], STRING), *args[1:])
    where = str(node.args.get("position") or "BOTH").lower()
    return Call(f"trim_{where}", args, STRING)


def position(binder: Binder, node: exp.Expr) -> Scalar:
    """``POSITION(a IN b)`` and ``position(a, b[, from])``."""
    parts = [node.args["substr"], node.this, node.args.get("position")]
    args = tuple(binder.bind(part) for part in parts if part is not None)
    require_fit(binder, node, "locate", args)
    return Call("locate", args, INT)


def overlay(binder: Binder, node: exp.Expr) -> Scalar:
    """``OVERLAY(a PLACING b FROM c FOR d)``."""
    parts = [node.args.get(key) for key in ("this", "expression", "from_", "for_")]
    args = tuple(binder.bind(part) for part in parts if part is not None)
    require_fit(binder, node, "overlay", args[:3])
    return Call("overlay", args, args[0].type if args[0].type == STRING else UNKNOWN)
