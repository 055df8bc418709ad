"""docs/how/ten-files.md is true: a day goes through the files that it names, in its order."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import CodeType, FrameType

import pyarrow as pa
import pyarrow.parquet as pq

from forerun.cli import app
from tests.meta.sources import ROOT

PAGE = (ROOT / "docs" / "how" / "ten-files.md").read_text(encoding="utf-8")
STEPS = re.findall(r"^\| \d+ \| `([\w/.]+)` `(\w+)` \|", PAGE, re.MULTILINE)
QUERY = """
SELECT s.region, COUNT(*) AS orders, SUM(o.amount) AS revenue
FROM orders o JOIN shops s ON o.shop = s.shop
GROUP BY s.region
"""


def _tables(folder: Path) -> None:
    folder.mkdir()
    shops, amounts = [i % 5 for i in range(200)], [i % 17 for i in range(200)]
    orders = {"id": range(200), "shop": shops, "amount": amounts}
    pq.write_table(pa.table(orders), folder / "orders.parquet")
    pq.write_table(pa.table({"shop": range(5), "region": list("nsewn")}), folder / "shops.parquet")


class Witness:
    """Notes in which order functions of the named files begin."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self._known: dict[CodeType, tuple[str, str] | None] = {}

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            code = frame.f_code
            if code not in self._known:
                self._known[code] = self._step_of(code)
            if (step := self._known[code]) is not None:
                self.seen.append(step)

    def _step_of(self, code: CodeType) -> tuple[str, str] | None:
        name = code.co_qualname.split(".")[0]
        return next((s for s in STEPS if code.co_filename.endswith(s[0]) and name == s[1]), None)


def test_a_day_goes_through_the_ten_files_in_order(tmp_path, monkeypatch, capsys):
    assert len(STEPS) == 10
    _tables(tmp_path / "tables")
    (tmp_path / "revenue.sql").write_text(QUERY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FORERUN_HOME", str(tmp_path / "home"))
    witness = Witness()
    sys.setprofile(witness)
    try:
        options = ["--tables", "tables", "--changing", "orders", "--engine", "sail"]
        done = app.run(["simulate", "revenue.sql", *options, "--method", "im1"])
    finally:
        sys.setprofile(None)
    assert done == 0, capsys.readouterr().err
    # The query is read before that, too: to check it, and to look for filters that are guessed.
    asked = witness.seen.index(STEPS[1])
    assert STEPS[0] in witness.seen[:asked]
    # The next run is prepared before the result of the last one is published.
    after = dict.fromkeys(step for step in witness.seen[asked:] if step != STEPS[0])
    assert list(after) == STEPS[1:]
