"""TPC-DS: the public query texts and generated tables, fetched when they are wanted.

Nothing of it is in the repository: ``scripts/tpcds.sh`` gets the texts (103 of version 1.4: the 99
queries, four of which have two parts; 32 of version 2.7 that differ) and the generator, and keeps
them below ``FORERUN_HOME``.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from include.jvm import home_folder
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

# The texts are of a schema whose column the generator has under the name of a later one.
_RENAMED = ((re.compile(r"\bc_last_review_date\b"), "c_last_review_date_sk"),)


def fetch() -> Path:
    """The folder with the texts and the generator. Needs the registries the first time."""
    subprocess.run([str(ROOT / "scripts" / "tpcds.sh")], check=True, cwd=ROOT)
    return home_folder() / "bench" / "tpcds"


def queries() -> dict[str, str]:
    """All texts by name (``q1``, ``q14a``, ``v27-q5a``), in the order of their numbers."""
    texts = {}
    for path in sorted((fetch() / "queries").glob("*.sql"), key=_order):
        text = path.read_text(encoding="utf-8")
        for name, now in _RENAMED:
            text = name.sub(now, text)
        texts[path.stem] = text
    return texts


def _order(path: Path) -> tuple[bool, int, str]:
    found = re.fullmatch(r"(v27-)?q(\d+)(\w?)", path.stem)
    if found is None:
        raise ValueError(f"{path} is not named like a query of TPC-DS")
    return bool(found[1]), int(found[2]), found[3]


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
