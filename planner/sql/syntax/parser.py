"""Spark's grammar where sqlglot's parser has another one.

sqlglot reads what any engine takes: operators of several dialects in levels of their own, words of
other engines as types, functions in a common vocabulary. Here operators bind as they do in Spark
(``SqlBaseParser.g4`` of 4.1), types have Spark's names, and functions keep the name and the
arguments that were written, so that what Spark calls ``nvl`` is ``nvl`` in the algebra too.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from forerun.planner.sql.syntax.spark_grammar import TYPES

_KEPT_FUNCTION_PARSERS = (
    "CAST", "TRY_CAST", "SUBSTRING", "TRIM", "OVERLAY",
)  # fmt: skip


_ONE_WORD: dict[TokenType, tuple[int, type[exp.Binary]]] = {
    TokenType.EQ: (1, exp.EQ),
    TokenType.NEQ: (1, exp.NEQ),
    TokenType.NULLSAFE_EQ: (1, exp.NullSafeEQ),
    TokenType.LT: (1, exp.LT),
    TokenType.LTE: (1, exp.LTE),
    TokenType.GT: (1, exp.GT),
    TokenType.GTE: (1, exp.GTE),
    TokenType.PIPE: (2, exp.BitwiseOr),
    TokenType.CARET: (3, exp.BitwiseXor),
    TokenType.AMP: (4, exp.BitwiseAnd),
    TokenType.PLUS: (6, exp.Add),
    TokenType.DASH: (6, exp.Sub),
    TokenType.DPIPE: (6, exp.DPipe),
    TokenType.STAR: (7, exp.Mul),
    TokenType.SLASH: (7, exp.Div),
    TokenType.MOD: (7, exp.Mod),
    TokenType.DIV: (7, exp.IntDiv),
}
"""Operators with their level: those of a higher one bind stronger, those of one level go from left
to right."""
IS_NOT = "is_not"
"""The mark of a negation that is written as a part of IS."""
BARE = "bare"
"""The mark of a function that is called without parentheses: its name as it is written."""
WRITTEN = "written"
"""The name of a function that has two and is written as the second one; the sign of one that is
written as an operator; the field of EXTRACT."""
LITERAL = "literal"
"""The mark of a cast that is written as a literal, ``DATE'2026-01-31'``."""
UNIT_FIRST = frozenset(
    {"date_add", "dateadd", "timestampadd", "datediff", "date_diff", "timestampdiff"}
)
"""Functions whose first of three arguments is a word like MONTH, and no column."""
_SHIFT_LEVEL = 5
_SHIFTS = (
    ((TokenType.GT, TokenType.GT, TokenType.GT), ">>>", "shiftrightunsigned"),
    ((TokenType.GT, TokenType.GT), ">>", "shiftright"),
    ((TokenType.LT, TokenType.LT), "<<", "shiftleft"),
)
_PREDICATES = (
    TokenType.BETWEEN, TokenType.IN, TokenType.LIKE, TokenType.ILIKE, TokenType.RLIKE, TokenType.IS,
)  # fmt: skip
_MOMENTS = (TokenType.TIMESTAMP, TokenType.TIMESTAMPTZ)
_CONSTRUCTORS = frozenset({"date", "timestamp", "timestamp_ntz", "timestamp_ltz"})
"""Types of which a literal can be written, ``DATE'2026-01-31'``."""


def _substr(parser: SparkParser) -> exp.Expr:
    """``substr`` is another function than ``substring`` to Spark, though it does the same; but not
    as ``substr(a FROM 2)``, which is read as it is of the other name."""
    first = parser._index  # noqa: SLF001 - no other way
    node: exp.Expr = SparkParser.FUNCTION_PARSERS["SUBSTR"](parser)
    if not _has_word(parser, first, TokenType.FROM):
        node.meta[WRITTEN] = "substr"
    return node


def _position(parser: SparkParser) -> exp.Expr:
    """``position(a, c)`` is ``position(a IN c)``, and only the latter is ``locate`` to Spark."""
    first = parser._index  # noqa: SLF001 - no other way
    node: exp.Expr = SparkParser.FUNCTION_PARSERS["POSITION"](parser)
    if not _has_word(parser, first, TokenType.IN):
        node.meta[WRITTEN] = "position"
    return node


def _has_word(parser: SparkParser, first: int, word: TokenType) -> bool:
    """Return whether a word stands in a call that begins at a token, outside of parentheses."""
    depth = 0
    for token in parser._tokens[first : parser._index]:  # noqa: SLF001 - no other way
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth == 0 and token.token_type is word:
            return True
    return False


def _extract(parser: SparkParser) -> exp.Expr:
    """``EXTRACT(day FROM d)``: Spark shows the field as it is written."""
    field = parser._curr.text  # noqa: SLF001 - no other way
    node: exp.Expr = SparkParser.FUNCTION_PARSERS["EXTRACT"](parser)
    node.meta[WRITTEN] = field
    return node


def _exists(arguments: list[exp.Expr]) -> exp.Expr:
    """``EXISTS ((SELECT ...))``: the predicate, as with one pair of parentheses. Of an array and a
    lambda it is a function."""
    (first, *more) = arguments or [exp.Null()]
    if isinstance(first, exp.Subquery) and not more:
        return exp.Exists(this=first.unnest())
    return exp.Anonymous(this="exists", expressions=arguments)


def _collated(parser: SparkParser, value: exp.Expr, collation: exp.Expr | None) -> exp.Expr:
    """``value COLLATE name`` is a call."""
    if collation is None:
        parser.raise_error("after COLLATE comes the name of a collation")
    name = exp.Literal.string("" if collation is None else collation.name)
    return parser.expression(exp.Anonymous(this="collate", expressions=[value, name]))


class ForerunSparkParser(SparkParser):
    """Reads expressions by Spark's grammar and keeps function calls as written; CAST is strict."""

    STRICT_CAST = True
    ADD_JOIN_ON_TRUE = False
    COLON_IS_VARIANT_EXTRACT = True
    FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {"EXISTS": _exists}
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        **{name: SparkParser.FUNCTION_PARSERS[name] for name in _KEPT_FUNCTION_PARSERS},
        "SUBSTR": _substr,
        "POSITION": _position,
        "EXTRACT": _extract,
    }
    RANGE_PARSERS: ClassVar[dict[TokenType, Callable[..., Any]]] = {
        kind: SparkParser.RANGE_PARSERS[kind] for kind in _PREDICATES
    }
    UNARY_PARSERS: ClassVar[dict[TokenType, Callable[..., Any]]] = {}
    ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}
    COLUMN_OPERATORS: ClassVar[dict[TokenType, Callable[..., Any] | None]] = {
        kind: SparkParser.COLUMN_OPERATORS[kind] for kind in (TokenType.DOT, TokenType.DCOLON)
    } | {TokenType.COLLATE: _collated}

    def _made(self, node: exp.Expr) -> exp.Expr:
        """The node, with its place in the text."""
        self.expression(node)
        return node

    def _parse_join(self, *args: Any, **named: Any) -> exp.Join | None:
        """A comma is no CROSS JOIN to Spark: its optimizer may find a condition for it in WHERE."""
        comma = self._curr.token_type is TokenType.COMMA
        join = super()._parse_join(*args, **named)
        if comma and join is not None:
            join.set("kind", None)
        return join

    def _parse_function(self, *args: Any, **named: Any) -> exp.Expr | None:
        """``CURRENT_DATE`` without parentheses is a column to Spark at first, and called so;
        ``CURRENT_USER`` and ``SESSION_USER`` are calls of one function."""
        written = self._curr.text if self._curr else ""
        node = super()._parse_function(*args, **named)
        if isinstance(node, exp.CurrentUser | exp.SessionUser):
            node = self._made(exp.Anonymous(this="current_user", expressions=[]))
            node.meta[BARE] = written
        if isinstance(node, exp.CurrentDate | exp.CurrentTimestamp):
            node.meta[BARE] = written
        return node

    def _parse_equality(self, parse_is: bool = True) -> exp.Expr | None:  # noqa: ARG002
        """What AND and OR connect. NOT stands before it, and never before a value."""
        if self._match(TokenType.NOT):
            return self._made(exp.Not(this=self._parse_equality()))
        return self._parse_range()

    def _parse_comparison(self, this: exp.Expr | None = None) -> exp.Expr | None:
        return this or self._parse_bitwise()

    def _parse_range(
        self,
        this: exp.Expr | None = None,
        parse_is: bool = False,  # noqa: ARG002
    ) -> exp.Expr | None:
        """A value, and at most one predicate on it, which binds weaker than a comparison:
        ``a = b IS NULL`` asks whether ``a = b`` is NULL."""
        value = this or self._parse_bitwise()
        if value is None:
            return None
        negated = self._match(TokenType.NOT)
        if not self._match_set(self.RANGE_PARSERS):
            if negated:
                self._retreat(self._index - 1)
            return value
        if isinstance(value, exp.Binary):
            value = self.expression(exp.Paren(this=value))
        found = self.RANGE_PARSERS[self._prev.token_type](self, value)
        return self._negate_range(found) if negated else found

    def _parse_is(self, this: exp.Expr | None) -> exp.Expr | None:
        """``IS NOT NULL`` is no NOT of ``IS NULL`` to Spark's optimizer, so it is told apart."""
        found = super()._parse_is(this)
        if isinstance(found, exp.Not):
            found.meta[IS_NOT] = True
        return found

    def _parse_bitwise(self) -> exp.Expr | None:
        return self._parse_operators(0)

    def _parse_operators(self, weaker: int) -> exp.Expr | None:
        """Operands with the operators between them that bind stronger than level ``weaker``."""
        left = self._parse_unary()
        while left is not None:
            shift = self._shift_ahead()
            if shift is not None:
                if weaker >= _SHIFT_LEVEL:
                    break
                sign, name = shift
                self._advance(len(sign))
                right = self._parse_operators(_SHIFT_LEVEL)
                if right is None:
                    self.raise_error("something is missing after the operator")
                left = self.expression(exp.Anonymous(this=name, expressions=[left, right]))
                left.meta[WRITTEN] = sign
                continue
            level, kind = _ONE_WORD.get(self._curr.token_type, (0, exp.Binary))
            if level <= weaker:
                break
            self._advance()
            right = self._parse_operators(level)
            left = self.expression(kind(this=left, expression=right))
        return left

    def _shift_ahead(self) -> tuple[str, str] | None:
        """The sign of the shift that comes next, and the function that does it."""
        for kinds, sign, name in _SHIFTS:
            signs = self._tokens[self._index : self._index + len(kinds)]
            if tuple(sign.token_type for sign in signs) == kinds and all(
                one.end + 1 == two.start for one, two in pairwise(signs)
            ):
                return sign, name
        return None

    def _parse_unary(self) -> exp.Expr | None:
        if self._match(TokenType.TILDE):
            return self._made(exp.BitwiseNot(this=self._parse_unary()))
        if self._match(TokenType.PLUS):
            value = self._parse_unary()
            if value is None:
                self.raise_error("something is missing after +")
            return self._made(exp.Anonymous(this="positive", expressions=[value]))
        if self._match(TokenType.DASH):
            if self._match(TokenType.NUMBER, advance=False):  # the sign is a part of the number
                number = self.expression(exp.Neg(this=self._parse_primary()))
                return self._parse_column_ops(number)
            return self._made(exp.Neg(this=self._parse_unary()))
        return self._parse_type()

    def _parse_type(
        self,
        parse_interval: bool = True,
        fallback_to_identifier: bool = False,
    ) -> exp.Expr | None:
        word, after = self._curr, self._next
        if (
            word.token_type in self.TYPE_TOKENS
            and after.token_type in (TokenType.STRING, TokenType.RAW_STRING, TokenType.NUMBER)
            and word.text.lower() not in _CONSTRUCTORS
            and word.token_type is not TokenType.INTERVAL
        ):
            self.raise_error(f"Spark has no literals of type {word.text.upper()}")
        found = super()._parse_type(parse_interval, fallback_to_identifier)
        if isinstance(found, exp.Cast) and after.token_type in (
            TokenType.STRING,
            TokenType.RAW_STRING,
        ):
            found.meta[LITERAL] = word.text.lower() in _CONSTRUCTORS
        return found

    def _parse_window_spec(self) -> dict[str, str | exp.Expr | None]:
        """A bound of a frame; PRECEDING and FOLLOWING in capitals, however they are written."""
        bound = super()._parse_window_spec()
        side = bound.get("side")
        return bound | {"side": side.upper()} if isinstance(side, str) else bound

    def _parse_types(self, *args: Any, **named: Any) -> exp.Expr | None:
        if self._curr.text.upper() not in TYPES:
            return None
        word = self._curr.token_type
        found = super()._parse_types(*args, **named)
        without = self._tokens[max(0, self._index - 3) : self._index]
        said = [token.text.upper() for token in without]
        if word in _MOMENTS and said == ["WITHOUT", "TIME", "ZONE"]:
            return self._made(exp.DataType(this=exp.DType.TIMESTAMPNTZ))
        return found

    def expression(
        self, instance: Any, token: Token | None = None, comments: list[str] | None = None
    ) -> Any:
        node = super().expression(instance, token, comments)
        if isinstance(node, exp.Expr) and "start" not in node.meta and not _has_parts(node):
            node.update_positions(token or self._prev)
        if isinstance(node, exp.Anonymous) and node.name.lower() in UNIT_FIRST:
            _set_unit(node)
        return node


def _set_unit(call: exp.Anonymous) -> None:
    """Make the first of three arguments a word, so that nobody takes it for a column's name."""
    first = call.expressions[0] if len(call.expressions) == 3 else None
    if isinstance(first, exp.Column) and not first.table:
        name = first.this
        if isinstance(name, exp.Identifier) and not name.quoted:
            unit = exp.Var(this=name.name)
            unit.meta.update(name.meta)
            first.replace(unit)


def _has_parts(node: exp.Expr) -> bool:
    return next(node.iter_expressions(), None) is not None
