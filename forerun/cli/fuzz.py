"""``forerun fuzz``: days with invented data, until one is not equal to batch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from forerun import console
from forerun.cli.options import CheckedDay
from forerun.include.machine.jvm import home_folder
from forerun.planner.errors import RequestError
from forerun.simulation.fuzzing import BAD, Fuzz, FuzzedDay, Verdict
from forerun.simulation.invented import read_real
from forerun.simulation.planning import read_day_tables, report_name
from forerun.simulation.running import Runner, open_runner, scratch_folder

DIFFERS = 1


def run(
    day: CheckedDay,
    *,
    days: int,
    seed: int,
    changelog: str | None,
    engine: str,
    master: str,
    as_json: bool,
) -> int:
    """Fuzz a report, show what was found, and return the exit code."""
    if day.is_group:
        raise RequestError("fuzz looks at one report", hint="Name one SQL file.")
    if day.declared.orders:
        raise RequestError(
            "fuzz has rows come in any order", hint="Leave --ordered-by out: it would not hold."
        )
    if day.declared.keys:
        raise RequestError(
            "fuzz draws rows of which several are the same",
            hint="Leave --key out: it would not hold.",
        )
    tables, changing = read_day_tables(day.tables, [day.report.sql], day.changing)
    changing = changing or frozenset(tables)
    named = frozenset(part.strip() for part in (changelog or "").split(",") if part.strip())
    if unknown := sorted(named - changing):
        raise RequestError(
            f"--changelog names {unknown[0]}, which does not change during the day",
            hint=f"Those that do are {', '.join(sorted(changing))}: see --changing.",
        )
    folder = scratch_folder(home_folder() / "fuzz", report_name(day.report.name))
    fuzz = Fuzz(
        name=report_name(day.report.name),
        sql=day.report.sql,
        real={name: read_real(table) for name, table in tables.items()},
        changing=changing,
        changelogs=named,
        foreign_keys=day.declared.foreign_keys,
        folder=folder,
    )
    counts: Counter[str] = Counter()
    with open_runner(engine, folder / "logs", master) as runner, console.progress() as bars:
        bar = bars.add_task("days", total=days)
        for number in range(seed, seed + days):
            drawn = fuzz.draw(number)
            verdict = fuzz.judge(drawn, runner)
            counts[verdict.kind] += 1
            bars.advance(bar)
            if verdict.kind in BAD:
                bars.update(bar, description="making it smaller")
                return _found(fuzz, drawn, verdict, runner, counts, as_json=as_json)
    if as_json:
        console.say_json({"days": dict(counts), "script": None})
    else:
        console.say(f"{_counted(counts)}: none is wrong")
    return 0


def _found(
    fuzz: Fuzz,
    day: FuzzedDay,
    verdict: Verdict,
    runner: Runner,
    counts: Counter[str],
    *,
    as_json: bool,
) -> int:
    small = fuzz.shrink(day, runner, lambda text: console.notes().print(text))
    script = fuzz.keep(small, Path.cwd() / f"forerun-fuzz-{day.seed}")
    if as_json:
        record = {"days": dict(counts), "seed": day.seed, "kind": verdict.kind}
        console.say_json({**record, "text": verdict.text, "script": str(script)})
        return DIFFERS
    console.say(f"{_counted(counts)}")
    console.say(f"the day of seed {day.seed} {verdict.kind}:\n{verdict.text}")
    console.say(f"{small.rows} rows in {len(small.arrived)} runs are enough: {script}")
    return DIFFERS


def _counted(counts: Counter[str]) -> str:
    said = ", ".join(f"{count:,} {kind}" for kind, count in counts.most_common())
    return f"{sum(counts.values()):,} days: {said}"
