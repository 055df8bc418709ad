"""Two hundred queries as analysts write them, over the constructs of public models by how often
they stand there: each is planned, and a golden says what is done of it before the final run.

``early``: the final run reads of what grows only what has come since the run before, beside what is
kept, which is less than half of the rows. ``keeps rows``: it keeps more than that, as joins do, or
what waits for all rows. ``reads again``: it reads these tables whole. ``text``: the author's own
text is run, and why. ``refused``: it is not planned.
Everything that may be early is forced to be, whatever it costs: this is about laws, not prices.
docs/lab/analysts.md has the sums.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from forerun.planner.api import plan
from forerun.planner.contract.plan_v1 import ArtifactOutput, FamilyInput, Plan, SourceInput
from forerun.planner.errors import SqlError
from forerun.planner.request import PlanRequest, Settings, TimePoint
from tests.datadriven import Block, Case, cases, check, read_blocks
from tests.meta.sources import ROOT
from tests.planner.analysts.tables import SOURCES

QUERIES = Path(__file__).parent / "queries.test"
PAGE = ROOT / "docs" / "lab" / "analysts.md"
POINTS = (
    TimePoint(weight=0.25, arrived=0.58),
    TimePoint(weight=0.3, arrived=0.79),
    TimePoint(weight=1.0),
)


def how(sql: str) -> str:
    """What is done of a query before the final run."""
    used = tuple(source for source in SOURCES if source.name in sql)
    growing = {source.name for source in used if source.changing}
    if not growing:
        return "nothing grows"
    found = plan(
        PlanRequest(
            report="r",
            sql=sql,
            sources=used,
            points=POINTS,
            method="progressive",
            settings=Settings(temporal="early"),
        )
    ).plan
    if found.batch_because:
        return f"text: {found.batch_because}"
    read = {
        given.source
        for stage in found.runs[-1].stages
        for given in stage.inputs
        if isinstance(given, SourceInput) and given.version == "snapshot"
    }
    if again := sorted(read & growing):
        return f"reads again: {', '.join(again)}"
    rows = sum(source.rows for source in used if source.changing)
    return "early" if _kept(found) < rows / 2 else "keeps rows"


def _kept(found: Plan) -> int:
    """The rows that the final run reads of what earlier runs have kept."""
    given = (given for stage in found.runs[-1].stages for given in stage.inputs)
    families = {one.family for one in given if isinstance(one, FamilyInput)}
    return sum(
        stage.estimated_rows
        for run in found.runs[:-1]
        for stage in run.stages
        if isinstance(stage.output, ArtifactOutput) and stage.output.family in families
    )


@pytest.mark.parametrize("case", cases([QUERIES]))
def test_what_is_done_early(case: Case, accept: bool) -> None:
    def run(block: Block) -> str:
        try:
            return how(block.input)
        except SqlError as error:
            return f"refused: {error.message.splitlines()[0]}"

    check(case, run, accept=accept)


def sums() -> str:
    """The table of the page."""
    kinds: dict[str, list[str]] = {}
    for block in read_blocks(QUERIES):
        kinds.setdefault(block.expected.strip().partition(":")[0], []).append(block.options["name"])
    counted = Counter({kind: len(names) for kind, names in kinds.items()})
    lines = ["| what the final run does | queries | which |", "| --- | --- | --- |"]
    for kind, count in counted.most_common():
        names = "all others" if kind == "early" else ", ".join(f"`{n}`" for n in kinds[kind])
        lines.append(f"| {kind} | {count} | {names} |")
    return "\n".join(lines)


def test_the_page_has_the_sums(accept: bool) -> None:
    before, _, rest = PAGE.read_text().partition("<!-- sums -->\n\n")
    table, _, after = rest.partition("\n\n<!-- end -->")
    if accept:
        PAGE.write_text(f"{before}<!-- sums -->\n\n{sums()}\n\n<!-- end -->{after}")
        return
    assert table == sums(), "run it with --accept"
