"""Compactions between the pins of two days: which files hold the rows of which."""

from __future__ import annotations

import pytest

from forerun.include.sources.constants import Constants
from forerun.include.sources.corrections import find_corrections
from forerun.include.sources.files import SameRows
from forerun.include.sources.tables.compactions import compacted_in, compactions
from forerun.include.sources.tables.log import Change, Commit
from forerun.include.state.records import Compacted, Pin, PinnedFile

ONE, TWO = (("dt", "2026-03-01"),), (("dt", "2026-03-02"),)


def file(key: str, day: str = "2026-03-01", origin: str = "") -> PinnedFile:
    of = f"file:///t/{origin}" if origin else ""
    return PinnedFile(uri=f"file:///t/{key}", size=1, identity="1", rows=1, day=day, origin=of)


def pin(*files: PinnedFile, compacted: tuple[Compacted, ...] = ()) -> Pin:
    return Pin(
        source="t", name="t", day="2026-03-02", number=1, path="/t", format="delta", pinned_at="",
        files=files, compacted=compacted,
    )  # fmt: skip


def compact(gone: str, come: str, partition: Constants = ONE) -> Commit:
    """Each letter is a file."""
    went = (Change(f"t/{key}", False, False, partition) for key in gone)
    return Commit((*went, *(Change(f"t/{key}", True, False, partition) for key in come)))


def moves(text: str, partition: Constants = ONE) -> Commit:
    """``+a-b``: a comes, b goes; ``*`` deletes rows of files that it does not name."""
    changes = [
        Change(f"t/{key}", sign == "+", True, partition)
        for sign, key in zip(text[::2], text[1::2], strict=True)
        if key != "*"
    ]
    marks = [Change("", True, True, partition, True)] if "*" in text else []
    return Commit((*changes, *marks))


def found(of_day: list[Commit], later: list[Commit], pinned: str) -> list[tuple[str, str]]:
    before = pin(*(file(key) for key in pinned))
    return [
        ("".join(sorted(k[-1] for k in one.gone)), "".join(sorted(k[-1] for k in one.there)))
        for one in compactions(of_day, later, before)
    ]


def test_a_compaction_holds_the_rows_of_what_was_pinned():
    assert found([], [compact("ab", "x")], "abc") == [("ab", "x")]
    assert found([], [compact("ab", "xy"), compact("cx", "z")], "abc") == [("abc", "yz")]
    assert found([], [compact("ab", "x"), compact("x", "ab")], "ab") == []


def test_each_partition_is_compacted_by_itself():
    both = Commit((*compact("a", "x").changes, *compact("b", "y", TWO).changes))
    assert found([], [both], "ab") == [("a", "x"), ("b", "y")]


@pytest.mark.parametrize(
    ("later", "why"),
    [
        ([moves("+d"), compact("ad", "x")], "d has come since"),
        ([moves("-a+a"), compact("ab", "x")], "a has other rows by now"),
        ([compact("ab", "x"), moves("-x+x")], "x has"),
        ([compact("ab", "x"), moves("-x+y")], "x was rewritten"),
        ([compact("ab", "x"), moves("**")], "rows were deleted, of a file that is not named"),
        ([moves("**"), compact("ab", "x")], "so they were before"),
    ],
)
def test_other_rows_are_not_the_same(later: list[Commit], why: str):
    assert found([], later, "ab") == [], why


def test_deletes_of_another_partition_change_nothing():
    for later in ([compact("ab", "x"), moves("**", TWO)], [moves("**", TWO), compact("ab", "x")]):
        assert found([], later, "ab") == [("ab", "x")]
    for unpartitioned in (
        (moves("**", ()), compact("ab", "x")),
        (compact("ab", "x"), moves("**", ())),
    ):
        assert found([], list(unpartitioned), "ab") == []


def test_what_was_compacted_during_the_day_counts_from_its_first_pin():
    """The pin reads on what its first one has found, and what has come since."""
    assert found([moves("+c"), compact("ab", "x")], [], "abc") == [("ab", "x")]
    assert found([moves("+c"), compact("ab", "x")], [compact("cx", "y")], "abc") == [("abc", "y")]
    assert found([moves("+c"), compact("ac", "x")], [], "abc") == [("ac", "x")]
    assert found([moves("+c"), compact("ac", "x")], [], "ab") == []
    for again in ("-c+c", "+c"):
        assert found([moves("+c"), moves(again), compact("ac", "x")], [], "abc") == []
    # The pin has read what was deleted by then.
    assert found([moves("**")], [compact("ab", "x")], "ab") == [("ab", "x")]
    assert found([moves("**"), compact("ab", "x")], [], "ab") == []
    # Rewritten by the row: the pin has a and what has changed, and not d.
    assert found([moves("-a+d")], [compact("bd", "x")], "ab") == []


def test_each_day_of_a_file_counts_by_itself():
    before = pin(file("a"), file("b", "2026-03-02"), file("c", "2026-02-28"))
    copies = [file(f"spool/{day}", day, "x") for day in ("2026-03-01", "2026-03-02")]
    same = SameRows(frozenset({"t/a", "t/b", "t/c", "t/other"}), frozenset({"t/x"}))
    days = compacted_in((same,), None, before, copies)
    assert days == (
        Compacted(gone=("file:///t/a",), come=("file:///t/spool/2026-03-01",)),
        Compacted(gone=("file:///t/b",), come=("file:///t/spool/2026-03-02",)),
    )
    now = pin(*copies, compacted=days)
    (left,) = find_corrections(before, now)
    assert (left.kind, left.uri) == ("vanished", "file:///t/c")


def test_what_is_not_there_as_said_is_a_correction():
    days = (Compacted(gone=("file:///t/a", "file:///t/b"), come=("file:///t/x",)),)
    for before, now in (
        (pin(file("a")), pin(file("x"), compacted=days)),
        (pin(file("a"), file("b")), pin(file("x"), file("b"), compacted=days)),
        (pin(file("a"), file("b"), file("x")), pin(file("x"), compacted=days)),
        (pin(file("a"), file("b")), pin(file("y"), compacted=days)),
    ):
        assert find_corrections(before, now)
    assert find_corrections(pin(file("a"), file("b")), pin(file("x"), compacted=days)) == ()
