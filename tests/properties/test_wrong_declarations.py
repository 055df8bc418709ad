"""Whatever a report declares wrongly of its sources: the plain query's result, or a named error.

Generated days on Sail, see :mod:`tests.properties.wrong_declarations`. A case that fails is shrunk
and written to ``regressions/wrong``.
"""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from forerun.planner.request import Method
from forerun.spark_jobs.engines.sail import SailEngine, start_sail
from tests.oracles.values import Row
from tests.properties.cases import (
    Case,
    JoinClause,
    QueryCase,
    Select,
    TableCase,
    from_json,
    to_json,
)
from tests.properties.chunks import REGRESSIONS, starts
from tests.properties.data import COLUMNS
from tests.properties.engines import PlainSailEngine
from tests.properties.execute import RefusedError
from tests.properties.sessions import sail_session
from tests.properties.shrink import shrink
from tests.properties.wrong_declarations import (
    EQUAL,
    METHODS,
    REFUSED,
    Lies,
    WrongDay,
    ends,
    foreign_case,
    lies_from_json,
    lies_to_json,
    wrong_case,
)
from tests.selection import few

CASES, FAST, CHUNK = 2000, 25, 25
FOREIGN = 10
KEPT = REGRESSIONS / "wrong"


@pytest.fixture(scope="module")
def sail():
    engine = start_sail()
    yield engine
    engine.stop()


def outcome(sail: SailEngine, folder: Path, case: Case, lies: Lies, method: Method) -> str:
    """How the day ends on Sail."""
    return ends(sail, PlainSailEngine(sail_session()), folder, case, lies, method)


def kept(sail: SailEngine, folder: Path, case: Case, lies: Lies, method: Method) -> str:
    """Shrink a case that fails, write it down, and return the name of its file."""

    def fails(candidate: Case) -> bool:
        try:
            outcome(sail, folder, candidate, lies, method)
        except AssertionError:
            return True
        except Exception:  # noqa: BLE001 - a smaller case may have no meaning
            return False
        return False

    small = shrink(case, fails, budget=60)
    KEPT.mkdir(exist_ok=True)
    (KEPT / f"{case.name}.json").write_text(to_json(small))
    (KEPT / f"{case.name}.lies").write_text(lies_to_json(lies, method))
    return f"{case.name}.json: {small.query.sql} {lies}"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("start", starts(0, CASES, CHUNK, fast=FAST))
def test_a_wrong_declaration_changes_no_result_in_silence(sail, tmp_path: Path, start: int):
    found: Counter[str] = Counter()
    for seed in range(start, start + CHUNK):
        case, lies, method = wrong_case(seed)
        try:
            found[outcome(sail, tmp_path / "day", case, lies, method)] += 1
        except Exception as error:
            where = kept(sail, tmp_path / "day", case, lies, method)
            raise AssertionError(f"seed {seed}, {method}, saved as {where}") from error
    loud = CHUNK - found[EQUAL] - found[REFUSED]
    assert found[EQUAL] >= 0.2 * CHUNK, found
    assert loud >= 0.2 * CHUNK, found


@pytest.mark.timeout(600)
@pytest.mark.parametrize("start", starts(0, 2 * FOREIGN, FOREIGN, fast=FOREIGN))
@pytest.mark.parametrize("holds", [True, False])
def test_a_foreign_key_is_right_or_the_day_says_so(
    sail: Any, tmp_path: Path, holds: bool, start: int
) -> None:
    """Where it holds, every day equals batch; where not, a day that rests on it fails."""
    found: Counter[str] = Counter()
    for seed in range(start, start + FOREIGN):
        case, lies, method = foreign_case(seed, holds=holds)
        folder = tmp_path / str(seed)
        day = WrongDay(case, lies, method, folder, sail, PlainSailEngine(sail_session()))
        try:
            end = day.check()
        except RefusedError:
            end = REFUSED
        except Exception as error:
            raise AssertionError(f"seed {seed}, {method}: {case.query.sql}") from error
        shutil.rmtree(folder, ignore_errors=True)
        found[end] += 1
        found["relied"] += day.relied > 0
    assert found["relied"] >= FOREIGN // 3, found
    if holds:
        assert not found["declaration"], found
        assert found[EQUAL] >= FOREIGN // 2, found
    else:
        assert found["declaration"] >= FOREIGN // 6, found


@pytest.mark.parametrize(
    ("method", "late"),
    few(((method, 2 + number % 2) for number, method in enumerate(METHODS)), 1),
)
def test_a_row_that_goes_more_often_than_it_came_is_noticed_by_every_method(
    sail, tmp_path: Path, method: Method, late: int
):
    """By batch, which adds the rows up, and by those that only follow the changes. The group has
    other rows, so that no count of its own would tell."""

    def row(k: int, n: int) -> Row:
        return (k, "a", n, None, None, None)

    changed = TableCase(
        COLUMNS,
        True,
        deliveries=((row(1, 1), row(1, 2)), (row(1, 3),), (row(2, 4),)),
        withdrawn=((), (row(1, 2),), ()),
    )
    other = TableCase(COLUMNS, True, ((row(1, 5),), (row(2, 6),), (row(1, 7),)))
    join = JoinClause("LEFT JOIN", "t1 b", ("a.k = b.k",))
    select = Select(("a.k", "sum(a.n)", "count(b.n)"), "t0 a", (join,), group=("a.k",))
    query = QueryCase((select,))
    case = Case("phantom", {"t0": changed, "t1": other}, query, 3, early=True)
    good, bad = Lies(), Lies(phantom=(("t0", late),))
    assert outcome(sail, tmp_path / "good", case, good, method) == EQUAL
    code = outcome(sail, tmp_path / "bad", case, bad, method)
    assert code in ("declaration", "stage:AnalysisException"), code


@pytest.mark.parametrize(
    "name", sorted(path.stem for path in KEPT.glob("*.json")) if KEPT.exists() else []
)
def test_what_failed_once_does_not_fail_again(sail, tmp_path: Path, name: str):
    case = from_json((KEPT / f"{name}.json").read_text())
    lies, method = lies_from_json((KEPT / f"{name}.lies").read_text())
    assert outcome(sail, tmp_path, case, lies, method)
