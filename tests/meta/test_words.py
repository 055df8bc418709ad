"""docs/reference/words.md is true, and names that were given up do not come back."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.meta.sources import ROOT, modules, tracked, tree

_ROW = re.compile(
    r"^\| (?P<word>[^|]+) \| (?P<meaning>[^|]+) \| `(?P<file>[^`]+)`(?: `(?P<name>\w+)`)? \|$"
)
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
PAGE = (ROOT / "docs" / "reference" / "words.md").read_text(encoding="utf-8")
HEADS = ("| word", "| ---")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith(HEADS)]

GIVEN_UP = {
    "doubt": "error term", "doubts": "error terms", "cone": "invalidation", "filler": "group costs",
    "holdings": "footprint", "lent": "borrowed", "lender": "origin", "offer": "note",
    "offers": "notes", "offered": "noted", "dear": "forced, or costly",
    "asks": "requirements", "anyhow": "any distribution", "dated": "group version",
}  # fmt: skip
"""Parts of names, with what took their place."""
GIVEN_UP_CLASSES = {
    "Way": "PhysicalAlternative", "Ways": "AlternativeEnumerator", "Try": "ResolvedAlternative",
    "Ask": "Requirement", "Cell": "DpEntry", "Link": "ChainCost", "Filler": "GroupCosts",
    "Chosen": "ExtractedPlan", "Figures": "GroupSizes", "Seen": "ObservedSizes",
    "Moment": "AsOf", "Moments": "LastTwoRuns", "Runs": "RunOpening",
    "Search": "RuleEngine, GreedySharing or MethodSearch", "Interval": "NoRegretLimit",
    "Rule": "NormalizeRule, DeltaRule or MemoRule", "Rewrite": "AppliedRewrite or ExploreRule",
    "Context": "BindContext, NormalizeContext or StageContext", "SharedFamily": "Family",
    "Step": "RuleFiring or BudgetStep",
}  # fmt: skip
"""Classes of the planner that could mean several things, with what took their place."""
_SUSPECT = re.compile("|".join(GIVEN_UP), re.IGNORECASE)
_CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
CODE = [p for p in tracked() if p.suffix == ".py" and p.parts[0] not in ("tests",)]


def test_no_word_has_two_rows():
    words = [line.split(" | ")[0] for line in ROWS]
    assert len(words) >= 30
    assert len(set(words)) == len(words)


def test_no_two_classes_have_one_name():
    """A name that two modules give to different things is read for the other one sooner or later;
    what a module keeps to itself may be called as it likes."""
    names = Counter(
        name
        for path in CODE
        for name in _CLASS.findall((ROOT / path).read_text(encoding="utf-8"))
        if not name.startswith("_")
    )
    assert {name for name, count in names.items() if count > 1} == set()


OURS = (
    "shadow", "manifest", "prepared run", "asked run", "domain", "stamped", "lane",
    "repeats", "placed", "determined", "fence", "safe start", "mark", "endpoint", "withdrawn",
    "proven", "repairable", "itemized", "twin", "imagined", "told size", "told",
)  # fmt: skip
"""Words that mean something of their own here: no dictionary has what names in the code say."""


@pytest.mark.parametrize("word", OURS)
def test_our_own_words_are_explained(word):
    assert any(line.startswith(f"| {word} |") for line in ROWS), f"{word} has no row in words.md"


@pytest.mark.parametrize("line", ROWS, ids=lambda line: line.split(" | ")[0].strip("| "))
def test_each_word_has_its_place(line):
    row = _ROW.match(line)
    assert row is not None, "word, meaning, file and, where it is one thing, its name"
    path = ROOT / row["file"]
    assert path.is_file(), row["file"]
    if row["name"]:
        name = row["name"]
        defined = rf"^( *(async )?def {name}\(|class {name}\b|{name}(:.*)? = | +{name}: )"
        assert re.search(defined, path.read_text(encoding="utf-8"), re.MULTILINE), row["name"]


TWICE = {"Blackout", "Cluster", "RunTimes"}
"""Names that two classes have still, one in clock times and one in seconds. The set can only
shrink."""


def test_a_name_means_one_class():
    named = Counter(
        node.name
        for path in modules()
        for node in tree(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    twice = {name for name, count in named.items() if count > 1}
    assert twice <= TWICE, f"say another word for one of each: {sorted(twice - TWICE)}"


def _names(text: str) -> Iterator[tuple[int, str]]:
    """The names of a file with their lines; none if no part of any word was given up."""
    if _SUSPECT.search(text) is None:
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            yield token.start[0], token.string


def test_words_that_were_given_up_are_in_no_name():
    back = []
    for path in CODE:
        text = (ROOT / path).read_text(encoding="utf-8")
        back += [
            f"{path}:{line}: {name}: say {GIVEN_UP[part.lower()]}"
            for line, name in _names(text)
            for part in _PART.findall(name)
            if part.lower() in GIVEN_UP
        ]
        if path.parts[0] == "planner":
            classes = re.findall(r"^class (\w+)", text, re.MULTILINE)
            back += [
                f"{path}: {c}: say {GIVEN_UP_CLASSES[c]}" for c in classes if c in GIVEN_UP_CLASSES
            ]
    assert not back, "\n".join(back)


def test_one_place_knows_how_a_group_as_of_the_last_run_is_encoded():
    """A bare ``~group`` elsewhere would have to be understood anew by each reader."""
    rooms = {("planner", room) for room in ("temporal", "materialize", "stages", "explain")}
    inverts = re.compile(r"~\w")
    among = [path for path in CODE if path.parts[:2] in rooms]
    knowing = [str(p) for p in among if inverts.search((ROOT / p).read_text(encoding="utf-8"))]
    assert knowing == ["planner/temporal/as_of.py"]
