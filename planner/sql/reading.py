"""Prints what was read of a text back, so that Spark can judge it.

Every operator stands in parentheses, every literal has the type that it was read with, types have
the names that the algebra gives them, a name is quoted, and no comment is left: Spark reads such a
text in one way. If it then makes the same plan of it as of the user's own, both were read alike.

It is printed from sqlglot's tree, through the same functions that bind literals, types and
intervals (:mod:`forerun.planner.sql.binding.literals`), and not from the algebra: there subqueries
are joins already, and Spark's optimizer does not bring every one of them to the form that it gives
the text, so that one text in four would differ without being wrong. What binding makes of the tree
is compared with Spark by execution (``tests/spark``); what this finds is how the text was taken
apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar

from sqlglot import exp
from sqlglot.generators.spark import SparkGenerator

from forerun.planner.algebra.scalar import Literal
from forerun.planner.sql.binding import literals
from forerun.planner.sql.printing.names import quote
from forerun.planner.sql.printing.scalar_sql import literal_sql, string_literal
from forerun.planner.sql.syntax.lexer import ForerunSpark
from forerun.planner.sql.syntax.parser import IS_NOT, UNIT_FIRST, WRITTEN
from forerun.planner.sql.syntax.text import ENDING, QueryText

_SIGNS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.NullSafeEQ: "<=>", exp.NullSafeNEQ: "IS DISTINCT FROM", exp.Add: "+", exp.Sub: "-",
    exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "DIV", exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|", exp.BitwiseXor: "^", exp.DPipe: "||", exp.RegexpLike: "RLIKE",
}  # fmt: skip
_SETS: dict[type[exp.Expr], str] = {
    exp.Union: "UNION", exp.Except: "EXCEPT", exp.Intersect: "INTERSECT",
}  # fmt: skip
_OF_TYPE = {"TINYINT": "Y", "SMALLINT": "S", "INT": "", "BIGINT": "L", "FLOAT": "F"}
_FUNCTION = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def printed(text: QueryText, tree: exp.Expr) -> str:
    """Return the query that was read of the text, as Spark SQL that a person can read, too."""
    return _Printer(text).generate(tree, copy=False)


def _number(literal: Literal) -> str:
    """A number with the sign that its type has in Spark's texts. (Of FLOAT and of the least numbers
    engines are given a cast, which Spark's optimizer leaves where it may not be needed.)"""
    sign = _OF_TYPE.get(literal.type.name)
    return literal_sql(literal).text if sign is None else f"{literal.text}{sign}"


class _Printer(SparkGenerator):
    """sqlglot's generator for clauses; all that stands in an expression is printed here."""

    EXPRESSIONS_WITHOUT_NESTED_CTES: ClassVar[set[type[exp.Expr]]] = set()
    """Of which sqlglot brings WITH to the top, where names meet that hid one another."""
    TABLESAMPLE_SEED_KEYWORD = "REPEATABLE"

    def __init__(self, text: QueryText) -> None:
        super().__init__(dialect=ForerunSpark(), identify=True, comments=False)
        self.text = text

    def infix(self, node: exp.Expr) -> str:
        left, right = self.sql(node, "this"), self.sql(node, "expression")
        return f"({left} {_SIGNS[type(node)]} {right})"

    def connected(self, node: exp.Expr) -> str:
        """A chain of AND or of OR: flat, however long."""
        kind, parts = type(node), []
        while type(node) is kind:
            parts.append(self.sql(node, "expression"))
            node = node.this
        parts.append(self.sql(node))
        word = " AND " if kind is exp.And else " OR "
        return f"({word.join(reversed(parts))})"

    def combined(self, node: exp.Expr) -> str:
        """A chain of one set operation, with each query in parentheses."""
        kind, every, first, parts = type(node), not node.args.get("distinct"), node, []
        own = ("with_", *ENDING)
        while type(first) is kind and bool(first.args.get("distinct")) is not every:
            if first is not node and any(first.args.get(clause) for clause in own):
                break
            parts.append(f"({self.sql(first, 'expression')})")
            first = first.this
        parts.append(f"({self.sql(first)})")
        word = f" {_SETS[kind]}{' ALL' if every else ''} "
        return self.prepend_ctes(node, self.query_modifiers(node, word.join(reversed(parts))))

    def literal(self, node: exp.Expr) -> str:
        if node.is_string:
            return string_literal(str(node.this))
        return _number(literals.number(self.text, node, str(node.this)))

    def negative(self, node: exp.Expr) -> str:
        inner = node.this
        if isinstance(inner, exp.Literal) and not inner.is_string:
            number = literals.number(self.text, inner, str(inner.this))
            return f"({_number(literals.negated(number))})"
        return f"(-{self.sql(inner)})"

    def converted(self, node: exp.Expr) -> str:
        word = "TRY_CAST" if isinstance(node, exp.TryCast) else "CAST"
        to = literals.type_of(self.text, node.args["to"])
        return f"{word}({self.sql(node, 'this')} AS {to.sql})"

    def length_of_time(self, node: exp.Expr) -> str:
        if not isinstance(node, exp.Interval):
            raise TypeError(f"Interval expected, not {type(node).__name__}")
        return literal_sql(literals.interval(self.text, node)).text

    def matched(self, node: exp.Expr, escape: str = "") -> str:
        word = "ILIKE" if isinstance(node, exp.ILike) else "LIKE"
        negated = "NOT " if node.args.get("negate") else ""
        pattern = node.args["expression"]
        if isinstance(pattern, exp.Any | exp.All):
            word += " ANY" if isinstance(pattern, exp.Any) else " ALL"
            parts = pattern.this.expressions or [pattern.this.unnest()]
            shown = f"({', '.join(self.sql(part) for part in parts)})"
        else:
            shown = self.sql(pattern)
        return f"({self.sql(node, 'this')} {negated}{word} {shown}{escape})"

    def escaped(self, node: exp.Expr) -> str:
        return self.matched(node.this, f" ESCAPE {self.sql(node, 'expression')}")

    def negated(self, node: exp.Expr) -> str:
        if node.meta.get(IS_NOT) and isinstance(node.this, exp.Is):
            return self.tested(node.this, "IS NOT")
        return f"(NOT {self.sql(node, 'this')})"

    def tested(self, node: exp.Expr, word: str = "IS") -> str:
        return f"({self.sql(node, 'this')} {word} {self.sql(node, 'expression')})"

    def within(self, node: exp.Expr) -> str:
        low, high = self.sql(node, "low"), self.sql(node, "high")
        return f"({self.sql(node, 'this')} BETWEEN {low} AND {high})"

    def listed(self, node: exp.Expr) -> str:
        query = node.args.get("query")
        shown = self.sql(query) if query else f"({self.expressions(node, flat=True)})"
        member = f"{self.sql(node, 'this')} IN {shown}"
        return member if isinstance(node.parent, exp.Pivot) else f"({member})"

    def called(self, node: exp.Expr) -> str:
        if sign := node.meta.get(WRITTEN):
            left, right = (self.sql(part) for part in node.expressions)
            return f"({left} {sign} {right})"
        name = str(node.this) if isinstance(node.this, str) else node.name
        shown = name if _FUNCTION.fullmatch(name) else quote(name)
        if name.lower() in UNIT_FIRST and len(node.expressions) == 3:
            unit, *rest = node.expressions
            return f"{shown}({unit.name}, {', '.join(self.sql(part) for part in rest)})"
        return f"{shown}({self.expressions(node, flat=True)})"

    def chosen(self, node: exp.Expr) -> str:
        parts = [node.this, node.args["true"], node.args.get("false") or exp.Null()]
        return f"if({', '.join(self.sql(part) for part in parts)})"

    def distributed(self, node: exp.Expr) -> str:
        """Return DISTRIBUTE BY without the directions that sqlglot reads into it."""
        items = ", ".join(self.sql(item, "this") for item in node.expressions)
        return f"{self.seg('DISTRIBUTE BY')} {items}"

    def sorted_by(self, node: exp.Expr) -> str:
        down = bool(node.args.get("desc"))
        first = node.args.get("nulls_first")
        place = "FIRST" if (not down if first is None else first) else "LAST"
        return f"{self.sql(node, 'this')} {'DESC' if down else 'ASC'} NULLS {place}"

    def placed(self, node: exp.Expr) -> str:
        parts = (node.args["substr"], node.this, node.args.get("position"))
        return f"position({', '.join(self.sql(part) for part in parts if part is not None)})"

    def part_of(self, node: exp.Expr) -> str:
        parts = [node.this, node.args.get("start"), node.args.get("length")]
        name = node.meta.get(WRITTEN, "substring")
        return f"{name}({', '.join(self.sql(part) for part in parts if part is not None)})"

    def trimmed(self, node: exp.Expr) -> str:
        removed, where = node.args.get("expression"), node.args.get("position") or "BOTH"
        if removed is None and not node.args.get("position"):
            return f"trim({self.sql(node, 'this')})"
        what = f" {self.sql(removed)}" if removed is not None else ""
        return f"trim({where}{what} FROM {self.sql(node, 'this')})"

    TRANSFORMS: ClassVar[dict[type[exp.Expr], Callable[..., str]]] = {
        **SparkGenerator.TRANSFORMS,
        **dict.fromkeys(_SIGNS, infix),
        **dict.fromkeys(_SETS, combined),
        exp.And: connected,
        exp.Or: connected,
        exp.Not: negated,
        exp.Neg: negative,
        exp.BitwiseNot: lambda self, node: f"(~{self.sql(node, 'this')})",
        exp.Paren: lambda self, node: self.sql(node, "this"),
        exp.Literal: literal,
        exp.RawString: lambda _, node: string_literal(str(node.this)),
        exp.HexString: lambda _, node: f"X'{node.name.upper()}'",
        exp.Concat: lambda _, node: string_literal("".join(p.name for p in node.expressions)),
        exp.Cast: converted,
        exp.TryCast: converted,
        exp.Interval: length_of_time,
        exp.Like: matched,
        exp.ILike: matched,
        exp.Escape: escaped,
        exp.Is: tested,
        exp.Between: within,
        exp.In: listed,
        exp.Anonymous: called,
        exp.If: chosen,
        exp.Distribute: distributed,
        exp.Ordered: sorted_by,
        exp.StrPosition: placed,
        exp.Substring: part_of,
        exp.Trim: trimmed,
        exp.CurrentDate: lambda *_: "current_date()",
        exp.CurrentTimestamp: lambda *_: "current_timestamp()",
        exp.Placeholder: lambda _, node: f":{node.name}",
    }
