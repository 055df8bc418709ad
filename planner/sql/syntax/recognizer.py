"""Says whether a text is a query by the rules of :mod:`forerun.planner.sql.syntax.spark_grammar`.

The rules are ambiguous, as Spark's own are: nearly every word may be a name. So a rule gives all
places at which what it stands for may end, remembered for each place at which it may begin, and a
text is a query if one of them is its end. That takes time in proportion to the text.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise

from forerun.planner.sql.syntax.spark_grammar import (
    FIELDS,
    JOINING,
    LITERAL_TYPES,
    PLAIN_TYPES,
    QUERIES,
    TYPES,
    UNITS,
)

_TOKEN = re.compile(
    r"""(?P<string>r?'[^']*'|r?"[^"]*")|(?P<quoted>`[^`]*`)"""
    r"|(?P<number>(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)E[+-]?[0-9]+(?:BD|[DF])?(?!\w)"
    r"|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:BD|[DF])?(?!\w)|[0-9]+(?:BD|[LSYDF])(?!\w))"
    r"|(?P<integer>[0-9]+(?!\w))|(?P<word>[A-Za-z0-9_]+)"
    r"|(?P<sign>/\*\+|\*/|<=>|<=|>=|<>|!=|!>|!<|==|\|\||\|>|->|=>|::|[-+*/%~&|^=<>!:().,\[\]?])"
    r"|(?P<gap>\s+)|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_SAME = {"!=": "<>", "!>": "<=", "!<": ">=", "==": "="}
_SHIFTS = ((">", 3), (">", 2), ("<", 2))

Ends = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Word:
    """A token: its kind, the text in capitals that rules know it by, and where it stands."""

    kind: str
    text: str
    start: int
    end: int


def words_of(filled: str) -> list[Word]:
    """The tokens of a text whose comments are blanks and whose strings are filled."""
    words = []
    for found in _TOKEN.finditer(filled):
        kind = found.lastgroup or "other"
        if kind != "gap":
            text = found[0].upper()
            words.append(Word(kind, _SAME.get(text, text), *found.span()))
    return words


def first_misfit(words: list[Word]) -> int | None:
    """Return the number of the first token that no query has in its place, or the number of tokens
    if the text ends too soon; None if it is a query."""
    reading = _Reading([*words, _END])
    if len(words) in _rules()["query"].ends(reading, 0):
        return None
    return reading.furthest


_END = Word("end", "", 0, 0)


@dataclass
class _Reading:
    """The tokens of one text, what is known of them, and how far any rule has come."""

    words: list[Word]
    known: dict[tuple[str, int], Ends] = field(default_factory=dict)
    furthest: int = 0

    def at(self, place: int) -> Word:
        self.furthest = max(self.furthest, place)
        return self.words[place]


class _Rule(ABC):
    """Something that may stand in a place."""

    @abstractmethod
    def ends(self, reading: _Reading, place: int) -> Ends:
        """All places at which it may end that begins here."""

    @abstractmethod
    def begins(self, word: Word) -> bool:
        """Return whether it may begin with a token."""

    @cached_property
    def is_optional(self) -> bool:
        return False


class _Token(_Rule):
    def __init__(self, fits: Callable[[Word], bool]) -> None:
        self._fits = fits

    def begins(self, word: Word) -> bool:
        return self._fits(word)

    def ends(self, reading: _Reading, place: int) -> Ends:
        return (place + 1,) if self._fits(reading.at(place)) else ()


class _Shift(_Rule):
    """Two or three signs without a gap: alone each of them compares."""

    def begins(self, word: Word) -> bool:
        return word.text in ("<", ">")

    def ends(self, reading: _Reading, place: int) -> Ends:
        for sign, count in _SHIFTS:
            some = reading.words[place : place + count]
            joined = all(one.end == two.start for one, two in pairwise(some))
            if len(some) == count and joined and all(one.text == sign for one in some):
                return (place + count,)
        return ()


class _Named(_Rule):
    def __init__(self, rules: dict[str, _Rule], name: str) -> None:
        self._rules, self._name = rules, name

    @cached_property
    def _rule(self) -> _Rule:
        return self._rules[self._name]

    def begins(self, word: Word) -> bool:
        return self._rule.begins(word)

    @cached_property
    def is_optional(self) -> bool:
        return self._rule.is_optional

    def ends(self, reading: _Reading, place: int) -> Ends:
        key = self._name, place
        found = reading.known.get(key)
        if found is None:
            found = reading.known[key] = self._rule.ends(reading, place)
        return found


class _OneOf(_Rule):
    def __init__(self, choices: list[_Rule]) -> None:
        self._choices = choices
        self._by_word: dict[tuple[str, str], list[_Rule]] = {}

    def _those_with(self, word: Word) -> list[_Rule]:
        key = word.kind, "" if word.kind in _ALIKE else word.text
        some = self._by_word.get(key)
        if some is None:
            some = [one for one in self._choices if one.is_optional or one.begins(word)]
            if word.kind != "word" or word.text in _OWN_WORDS:  # of names there is no end
                self._by_word[key] = some
        return some

    def begins(self, word: Word) -> bool:
        return bool(self._those_with(word))

    @cached_property
    def is_optional(self) -> bool:
        return any(choice.is_optional for choice in self._choices)

    def ends(self, reading: _Reading, place: int) -> Ends:
        ends: Ends = ()
        for choice in self._those_with(reading.at(place)):
            found = choice.ends(reading, place)
            if found:
                ends = found if not ends else tuple({*ends, *found})
        return ends


class _InTurn(_Rule):
    def __init__(self, steps: list[_Rule]) -> None:
        self._steps = steps

    def begins(self, word: Word) -> bool:
        for step in self._steps:
            if step.begins(word):
                return True
            if not step.is_optional:
                return False
        return True

    @cached_property
    def is_optional(self) -> bool:
        return all(step.is_optional for step in self._steps)

    def ends(self, reading: _Reading, place: int) -> Ends:
        ends: Ends = (place,)
        for step in self._steps:
            if len(ends) == 1:
                ends = step.ends(reading, ends[0])
            else:
                ends = tuple({end for begun in ends for end in step.ends(reading, begun)})
            if not ends:
                break
        return ends


class _Repeated(_Rule):
    """Any number of times, or at most once."""

    def __init__(self, inner: _Rule, *, once: bool = False) -> None:
        self._inner, self._once = inner, once

    def begins(self, word: Word) -> bool:
        return self._inner.begins(word)

    @cached_property
    def is_optional(self) -> bool:
        return True

    def ends(self, reading: _Reading, place: int) -> Ends:
        if not self._inner.begins(reading.at(place)):
            return (place,)
        if self._once:
            return tuple({place, *self._inner.ends(reading, place)})
        ends, new = {place}, [place]
        while new:
            more = self._inner.ends(reading, new.pop())
            new += [end for end in more if end not in ends]
            ends.update(more)
        return tuple(ends)


class _Reader:
    """Reads what is written of one rule. A name of a rule may come before the rule."""

    def __init__(self, rules: dict[str, _Rule], body: str) -> None:
        self._rules = rules
        self._parts = re.findall(r"'[^']+'|\w+|\S", body)

    def read(self) -> _Rule:
        choices = [self._sequence()]
        while self._next() == "|":
            self._parts.pop(0)
            choices.append(self._sequence())
        return choices[0] if len(choices) == 1 else _OneOf(choices)

    def _next(self) -> str:
        return self._parts[0] if self._parts else ""

    def _sequence(self) -> _Rule:
        steps: list[_Rule] = []
        while self._next() not in ("", "|", ")", "]", "}"):
            step = self._step()
            if self._next() == "%":
                self._parts.pop(0)
                step = _InTurn([step, _Repeated(_InTurn([self._step(), step]))])
            steps.append(step)
        return steps[0] if len(steps) == 1 else _InTurn(steps)

    def _step(self) -> _Rule:
        part = self._parts.pop(0)
        if part in ("(", "[", "{"):
            inner = self.read()
            self._parts.pop(0)
            return inner if part == "(" else _Repeated(inner, once=part == "[")
        if part.startswith("'"):
            return _Token(lambda word: word.kind == "sign" and word.text == part[1:-1])
        if part in _KINDS:
            return _KINDS[part]
        if part.islower():
            return _Named(self._rules, part)
        return _Token(lambda word: word.kind == "word" and word.text == part)


@cache
def _rules() -> dict[str, _Rule]:
    rules: dict[str, _Rule] = {}
    pieces = re.split(r"^(\w+) = ", QUERIES, flags=re.MULTILINE)[1:]
    for name, body in zip(pieces[::2], pieces[1::2], strict=True):
        rules[name] = _Reader(rules, body).read()
    return rules


_ALIKE = frozenset({"string", "quoted", "number", "integer", "other"})
_OWN_WORDS = frozenset(re.findall(r"[A-Z_]{2,}", QUERIES)) | UNITS | TYPES | JOINING
_KINDS: dict[str, _Rule] = {
    "NAME": _Token(lambda word: word.kind in ("word", "quoted")),
    "ALIAS": _Token(
        lambda word: word.kind == "quoted" or (word.kind == "word" and word.text not in JOINING)
    ),
    "STRING": _Token(lambda word: word.kind == "string"),
    "INTEGER": _Token(lambda word: word.kind == "integer"),
    "NUMBER": _Token(lambda word: word.kind == "number"),
    "MARK": _Token(lambda word: word.kind == "word" and word.text in LITERAL_TYPES),
    "TYPE": _Token(lambda word: word.kind == "word" and word.text in PLAIN_TYPES),
    "STRING_TYPE": _Token(lambda word: word.kind == "word" and word.text == "STRING"),
    "UNIT": _Token(lambda word: word.kind == "word" and word.text in UNITS),
    "FIELD": _Token(lambda word: word.kind == "word" and word.text in FIELDS),
    "SHIFT": _Shift(),
}
