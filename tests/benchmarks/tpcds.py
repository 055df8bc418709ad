"""TPC-DS: the public query texts and generated tables, fetched when they are wanted.

Nothing of it is in the repository: ``scripts/tpcds.sh`` gets the texts and the generator, and keeps
them below ``FORERUN_HOME``.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from forerun.include.machine.jvm import home_folder
from tests.benchmarks.page import ROOT

FACTS = frozenset({
    "store_sales", "store_returns", "catalog_sales", "catalog_returns", "web_sales", "web_returns",
    "inventory",
})  # fmt: skip
"""The tables that grow during a day."""

TOGETHER = (
    "store_returns.sr_ticket_number=store_sales.ss_ticket_number",
    "catalog_returns.cr_order_number=catalog_sales.cs_order_number",
    "web_returns.wr_order_number=web_sales.ws_order_number",
)
"""Returns arrive with the sale they belong to."""

_PARTS = {14: "ab", 23: "ab", 24: "ab", 39: "ab"}
_LATER = (
    "5a 6 10a 11 12 14 14a 18a 20 22 22a 24 27a 34 35 35a 36a 47 49 51a 57 64 67a 70a 72 74 75 77a "
    "78 80a 86a 98"
)
NAMES = (
    *(f"q{number}{part}" for number in range(1, 100) for part in _PARTS.get(number, ("",))),
    *(f"v27-q{name}" for name in _LATER.split()),
)
"""All texts: the 99 queries of version 1.4, four of which have two parts, and those of version 2.7
that differ."""

# The texts are of a schema whose column the generator has under the name of a later one.
_RENAMED = ((re.compile(r"\bc_last_review_date\b"), "c_last_review_date_sk"),)


def fetch() -> Path:
    """The folder with the texts and the generator. Needs the registries the first time."""
    subprocess.run([str(ROOT / "scripts" / "tpcds.sh")], check=True, cwd=ROOT)
    return home_folder() / "bench" / "tpcds"


def queries() -> dict[str, str]:
    """The texts by name."""
    folder, texts = fetch() / "queries", {}
    for name in NAMES:
        texts[name] = (folder / f"{name}.sql").read_text(encoding="utf-8")
        for old, now in _RENAMED:
            texts[name] = old.sub(now, texts[name])
    return texts


def tables(scale: float) -> Path:
    """A folder with the 24 tables at a scale, one Parquet file each; generated once."""
    folder = home_folder() / "bench" / f"tpcds-{scale:g}"
    if not (folder / "done").exists():
        program = fetch() / "generator" / "bin" / "tpcgen-cli"
        command = [str(program), "tpcds", "parquet", "-s", f"{scale:g}", "--overwrite"]
        subprocess.run([*command, "-o", str(folder)], check=True)
        (folder / "dbgen_version.parquet").unlink()  # a note on the generator, not a table
        (folder / "done").touch()
    return folder


def texts_of_99() -> dict[str, str]:
    """The 99 queries by name, four of which have two parts."""
    return {name: text for name, text in queries().items() if not name.startswith("v27-")}
