"""Computes windows of two kinds one over the other, where rows come in the order of both.

::

    W(R)  =  W_far(W_near(R))

*W* looks back at a few rows with some of its functions (``lag``, frames of a few rows) and at all
rows before with others (running sums, numbers), by one partition in one order in which the author
declares that rows come. Each kind goes on in a way of its own
(:mod:`forerun.planner.rules.methods.recent_rows`,
:mod:`forerun.planner.rules.methods.appended_windows`), so that the rows which were there stay as
they are.

Correctness: a window leaves the rows of its input as they are and adds columns, and no function
here reads a column of another. Bags, NULLs, retractions: those of windows. Which of the rows that
tie a function takes is chosen for each kind by itself, as SQL leaves it open. Source: as for other
windows in a declared order.
"""

from __future__ import annotations

from forerun.planner.algebra.relational import Project, Window
from forerun.planner.algebra.scalar import Ref
from forerun.planner.rules.methods import recent_rows
from forerun.planner.rules.methods.appended_windows import appends, goes_on
from forerun.planner.search.rule import Match, MemoRule


def _fire(match: Match) -> bool:
    memo, window = match.memo, match.expression.node
    if not isinstance(window, Window) or appends(match) is None:
        return False
    far = tuple((column, call) for column, call in window.calls if goes_on(call))
    near = tuple((column, call) for column, call in window.calls if not goes_on(call))
    if not far or not near or not recent_rows.goes_on(memo, Window(window.input, near)):
        return False
    over = Window(Window(window.input, near), far)
    same = Project(over, tuple((column, Ref(column)) for column in window.columns))
    memo.equate(match.expression.group, same, RULE.name)
    return True


RULE = MemoRule(
    "SplitWindows",
    Window,
    _fire,
    "Distributed IVM 3.2: windows that later rows extend, of two kinds",
    deltas=True,
)
