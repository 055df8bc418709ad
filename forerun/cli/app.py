"""The command line. Exit codes: 0 fine, 1 results differ, a check failed or a deadline is missed, 2
cannot do it."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer.exceptions import TyperException

from forerun import console
from forerun.cli.assess import assess_command
from forerun.cli.calibrate import calibrate_command
from forerun.cli.check import check_command
from forerun.cli.doctor import doctor_command
from forerun.cli.init import init_command
from forerun.cli.options import CheckedDay, takes_day
from forerun.cli.plan import CANNOT, plan_command
from forerun.cli.schedule import schedule_app
from forerun.cli.setup import setup_command
from forerun.cli.stored.arrivals import arrivals_command
from forerun.cli.stored.backfill import backfill_command
from forerun.cli.stored.diff import diff_command
from forerun.cli.stored.expire import expire_command, expire_pins_command
from forerun.cli.stored.explain import explain_command
from forerun.cli.stored.repair import repair_command
from forerun.cli.stored.result import result_command
from forerun.cli.stored.savings import savings_command
from forerun.cli.stored.shadow import shadow_command
from forerun.cli.stored.status import status_command
from forerun.include.engines import ENGINES
from forerun.planner.errors import ForerunError
from forerun.planner.request import Method
from forerun.planner.version import VERSION

_DEBUG = "FORERUN_DEBUG"

app = typer.Typer(
    name="forerun",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Daily reports, computed early, published exact: plan them, try them, check the set-up.",
    epilog="Exit codes: 0 fine, 1 results differ, a check failed or a deadline is missed, 2 cannot "
    "do it.",
)


def _say_version(wanted: bool) -> None:
    """Print the version and leave, where ``--version`` was given."""
    if wanted:
        console.say(f"forerun {VERSION}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_say_version, is_eager=True, help="Show the version and leave."
        ),
    ] = False,
) -> None:
    """Hold the options that need no command; with it, commands are named even if there is one."""


StoreUri = Annotated[
    str | None, typer.Option("--store", metavar="URI", help="Folder, file:// or s3://.")
]
JsonFile = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="All figures; - is stdout.")
]


app.command(
    "plan",
    epilog="**Examples**\n\n"
    "`forerun plan report.sql --tables data/`\n\n"
    "`forerun plan report.sql --tables data/ --changing orders,lineitem --format sql`\n\n"
    "`forerun plan report.sql --tables data/ --arrived 0.4,1 --weights 0.2,1 --format json`\n\n"
    "`forerun plan report.sql --tables data/ --choose 3 --arrived 0.2,0.4,0.6,0.8,1 "
    "--weights 0.2,0.2,0.2,0.9,1`\n\n"
    "`forerun plan report.sql --tables data/ --problem ivm --state-budget 500MB`\n\n"
    "`forerun plan report.sql --tables data/ --sample 2000`\n\n"
    "`forerun plan report.sql --tables data/ --date 2026-01-31 --param region=EU`\n\n"
    "`forerun plan report.sql --tables data/ --method im1 --rules-off EagerAggregate`\n\n"
    "`forerun plan report.sql --tables data/ --as-if 1000x`\n\n"
    "`forerun plan sales.sql returns.sql stock.sql --tables data/`",
)(plan_command)


EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="; ".join(f"{e.name}: {e.about}" for e in ENGINES.values() if not e.endpoint),
    ),
]
Changelog = Annotated[
    str | None, typer.Option("--changelog", metavar="T1,T2", help="Those with updates, too.")
]


@app.command(
    "simulate",
    epilog="**Examples**\n\n"
    "`forerun simulate report.sql --tables data/ --engine sail`\n\n"
    "`forerun simulate report.sql --tables data/ --early-engine sail`\n\n"
    "`forerun simulate report.sql --tables data/ --correlate lineitem.l_orderkey=orders.o_orderkey`"
    "\n\n`forerun simulate report.sql --tables data/ --store s3://bucket/try --json day.json`\n\n"
    "`forerun simulate sales.sql returns.sql stock.sql --tables data/`",
)
@takes_day()
def simulate_command(  # noqa: PLR0913 - the options of the command
    day: CheckedDay,
    engine: EngineOption = "spark",
    early_engine: Annotated[
        Literal["same", "sail"],
        typer.Option("--early-engine", help="What does early runs that give no result."),
    ] = "same",
    correlate: Annotated[
        list[str] | None,
        typer.Option(
            "--correlate",
            metavar="CHILD.KEY=PARENT.KEY",
            help="Rows of the child arrive with their parent. May be given several times.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Which rows come when.")] = 1,
    store: StoreUri = None,
    method: Annotated[
        Method,
        typer.Option(
            "--method",
            help="All incremental methods by cost, every run whatever it costs, one method alone, "
            "or one run at the end.",
        ),
    ] = "auto",
    changelog: Changelog = None,
    json_file: JsonFile = None,
    master: Annotated[str, typer.Option("--master", help="Where Spark runs.")] = "local[*]",
) -> int:
    """Run a whole day on a folder of tables, then the plain query, and compare.

    Several reports are run as a group: one application at each time point, for all of them.
    """
    from forerun.cli import simulate as command

    return command.run(
        day,
        method,
        correlate=tuple(correlate or ()),
        seed=seed,
        store=store,
        engine=command.EngineChoice(engine, master, early_engine),
        json_file=json_file,
        changelog=changelog,
    )


@app.command(
    "fuzz",
    epilog="**Examples**\n\n"
    "`forerun fuzz report.sql --tables data/`\n\n"
    "`forerun fuzz report.sql --tables data/ --days 1000 --changelog orders`\n\n"
    "`forerun fuzz report.sql --tables data/ --engine spark --days 20`",
)
@takes_day()
def fuzz_command(
    day: CheckedDay,
    days: Annotated[int, typer.Option("--days", min=1, help="So many days are tried.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="The seed of the first day.")] = 1,
    changelog: Changelog = None,
    engine: EngineOption = "sail",
    master: Annotated[str, typer.Option("--master", help="Where Spark runs.")] = "local[*]",
    as_json: Annotated[bool, typer.Option("--json", help="The counts as JSON.")] = False,
) -> int:
    """Try days with invented data until one is not equal to batch, and make that one small.

    The tables say which columns there are and give half of the values; nothing of them is changed.
    The day that is wrong is kept as tables and a script. Exit code 1 if there is one.
    """
    from forerun.cli import fuzz as command

    return command.run(
        day, days=days, seed=seed, changelog=changelog, engine=engine, master=master,
        as_json=as_json,
    )  # fmt: skip


class DemoStore(StrEnum):
    file = "file"
    s3 = "s3"


class DemoMode(StrEnum):
    replay = "replay"
    progressive = "progressive"
    batch = "batch"


@app.command(
    "demo",
    epilog="**Examples**\n\n`forerun demo`\n\n`forerun demo --store s3`\n\n"
    "`forerun demo --mode progressive`",
)
def demo_command(
    store: Annotated[
        DemoStore, typer.Option("--store", help="A folder, or a local S3 server of its own.")
    ] = DemoStore.file,
    scale: Annotated[float, typer.Option("--scale", help="Scale factor of TPC-H.")] = 1.0,
    mode: Annotated[
        DemoMode,
        typer.Option(
            "--mode",
            help="replay: early work where it pays. progressive: in every run, whatever it costs. "
            "batch: none. (With --up, Airflow's form asks for it.)",
        ),
    ] = DemoMode.replay,
    up: Annotated[bool, typer.Option("--up", help="Airflow's UI on the demo instead.")] = False,
    stage: Annotated[
        bool, typer.Option("--stage", help="Only put the day's data where FORERUN_DATA says.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="All figures as JSON.")] = False,
) -> int:
    """Run the night of a small shop's three reports, through Airflow and Spark, and draw it."""
    from forerun.demo import command, ui

    if stage:
        return ui.stage(scale)
    if up:
        return ui.up(store.value, scale)
    return command.run(store.value, scale, mode.value, as_json=as_json)


app.command(
    "status",
    epilog="**Examples**\n\n`forerun status`\n\n`forerun status daily_totals 2026-01-31`\n\n"
    "`forerun status --store s3://warehouse/forerun --json`",
)(status_command)
app.command(
    "explain",
    epilog="**Examples**\n\n`forerun explain source-file`\n\n"
    "`forerun explain daily_totals 2026-01-31 --store s3://warehouse/forerun`",
)(explain_command)
app.command(
    "diff",
    epilog="**Examples**\n\n`forerun diff daily_totals 2026-01-30 2026-01-31`",
)(diff_command)
app.command(
    "savings",
    epilog="**Examples**\n\n`forerun savings`\n\n`forerun savings daily_totals --json`",
)(savings_command)
app.command(
    "arrivals",
    epilog="**Examples**\n\n`forerun arrivals daily_totals 2026-01-31`",
)(arrivals_command)
app.command(
    "assess",
    epilog="**Examples**\n\n"
    "`forerun assess reports/ --tables data/`\n\n"
    "`forerun assess sales.sql stock.sql --tables data/ --changing orders,lineitem --json`\n\n"
    "`forerun assess reports/ --tables data/ --arrived 0.5,0.9,1 --weights 0.2,0.2,1`\n\n"
    "`forerun assess --event-logs spark-events/ --tables data/`",
)(assess_command)
app.command(
    "backfill",
    epilog="**Examples**\n\n"
    "`forerun backfill daily_totals 2026-01-01 2026-01-31 --store s3://warehouse/forerun --preview`"
    "\n\n`forerun backfill daily_totals 2026-01-01 2026-01-31 --store ./store --together 10 --yes`",
)(backfill_command)
app.command(
    "calibrate",
    epilog="**Examples**\n\n"
    "`forerun calibrate s3://warehouse/forerun`\n\n"
    "`forerun calibrate s3://warehouse/forerun --apply`\n\n"
    "`forerun calibrate s3://warehouse/forerun --reset`",
)(calibrate_command)
app.command(
    "doctor",
    epilog="**Examples**\n\n"
    "`forerun doctor --store s3://bucket/prefix --master spark://host:7077`\n\n"
    "`forerun doctor --airflow`",
)(doctor_command)
app.command("expire")(expire_command)
app.command("expire-pins")(expire_pins_command)
app.command(
    "check",
    epilog="**Examples**\n\n"
    "`forerun check reports/sales.sql --tables data/`\n\n"
    "`forerun check dags/sales.py --json`\n\n"
    "`forerun check report.json --date 2026-01-31 --no-spark`",
)(check_command)
app.command(
    "init",
    epilog="**Examples**\n\n"
    "`forerun init /lake/shop --into dags`\n\n"
    "`forerun init s3://lake/orders s3://lake/customers --into dags --name revenue`",
)(init_command)
app.command(
    "repair",
    epilog="**Examples**\n\n"
    "`forerun repair daily_totals 2026-01-31 --store s3://warehouse/forerun --preview`\n\n"
    "`forerun repair daily_totals 2026-01-31 --store s3://warehouse/forerun --yes`\n\n"
    "`forerun repair daily_totals 2026-01-31 --store ./store --copies s3://archive/orders`",
)(repair_command)
app.command(
    "shadow",
    epilog="**Examples**\n\n"
    "`forerun shadow daily_totals --store s3://warehouse/forerun`\n\n"
    "`forerun shadow daily_totals --store s3://warehouse/forerun --compare --json`",
)(shadow_command)
app.command("result")(result_command)
app.command("setup", epilog="**Example**: `forerun setup --s3`, when an image is built.")(
    setup_command
)
app.add_typer(schedule_app, name="schedule")


def main() -> None:
    """Run a command and leave with its exit code. Errors are sentences, never tracebacks."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """The exit code of a command line."""
    # Of simulate, --json is a file, and there is none of a day that has not been.
    as_json = "--json" in arguments and arguments[:1] != ["simulate"]
    try:
        code = app(args=arguments, standalone_mode=False)
        return code if isinstance(code, int) else 0
    except TyperException as error:
        console.fail(_usage(error), as_json=as_json)
        return CANNOT
    except typer.Abort:
        return CANNOT
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130
    except BrokenPipeError:
        # The reader of our output has gone; a second error at exit would say so again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ForerunError as error:
        console.fail(error, as_json=as_json)
        return CANNOT
    except OSError as error:
        if os.environ.get(_DEBUG):
            raise
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        hint = "Check that it is there, that this user may use it, and that the disk is not full."
        console.fail(ForerunError(what, code="os", hint=hint), as_json=as_json)
        return CANNOT
    except Exception as error:
        if os.environ.get(_DEBUG):
            raise
        wrong = ForerunError(
            f"{type(error).__name__}: {error}",
            code="internal",
            hint=f"This is a bug in Forerun; {_DEBUG}=1 shows where. Please report it.",
        )
        console.fail(wrong, as_json=as_json)
        return CANNOT


def _usage(error: TyperException) -> ForerunError:
    """A command line that does not fit, as an error like any other."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "forerun"
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    return ForerunError(message, code="usage", hint=f"`{command} --help` shows the options.")
