"""The command line. Exit codes: 0 fine, 1 results differ or a check failed, 2 cannot do it."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from forerun import console
from forerun.doctor import doctor_command
from forerun.expire import expire_command
from forerun.planning import (
    ProblemName,
    build_request,
    changing_tables,
    check_size,
    parse_points,
    parse_problem,
    parse_rules,
    parse_settings,
    read_sql,
)
from forerun.tables import find_tables
from include.jvm import home_folder
from include.report import MOST_SAMPLED
from planner.errors import ForerunError

CANNOT = 2
_DEBUG = "FORERUN_DEBUG"

app = typer.Typer(
    name="forerun",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Daily reports, computed early, published exact: plan them, try them, check the set-up.",
    epilog="Exit codes: 0 fine, 1 results differ or a check failed, 2 cannot do it.",
)


class Method(StrEnum):
    auto = "auto"
    im1 = "im1"
    im2 = "im2"
    ojv = "ojv"
    hov = "hov"
    cv = "cv"
    batch = "batch"


class Format(StrEnum):
    tree = "tree"
    sql = "sql"
    json = "json"


@app.callback()
def _root() -> None:
    """Commands are named even while there is only one."""


ReportFile = Annotated[Path, typer.Argument(metavar="REPORT.sql", help="The query, a text file.")]
Tables = Annotated[
    Path, typer.Option("--tables", metavar="DIR", help="A Parquet file or folder per table.")
]
Changing = Annotated[
    str | None,
    typer.Option(
        "--changing",
        metavar="T1,T2",
        help="Tables that grow during the day. Default: all of more than 10,000 rows.",
    ),
]
Arrived = Annotated[
    str,
    typer.Option("--arrived", metavar="F1,..,1", help="Part of the data that is there at a run."),
]
Weights = Annotated[
    str, typer.Option("--weights", metavar="W1,..,WK", help="Price of compute at each run.")
]

ProblemOption = Annotated[
    ProblemName,
    typer.Option(
        "--problem",
        help="pdw: the result at the end, at the least weighted cost. "
        "ivm: the result at every run, the last run as cheap as can be.",
    ),
]
RulesOff = Annotated[
    str | None,
    typer.Option(
        "--rules-off",
        metavar="R1,R2",
        help="Rules of the planner not to use. A name that there is not: the error lists all.",
    ),
]
ResultsAt = Annotated[
    str | None,
    typer.Option(
        "--results-at",
        metavar="R1,R2",
        help="Early runs that give the result too, over what has arrived by then.",
    ),
]

StoreUri = Annotated[
    str | None, typer.Option("--store", metavar="URI", help="Folder, file:// or s3://.")
]
StateBudget = Annotated[
    str,
    typer.Option(
        "--state-budget",
        metavar="SIZE",
        callback=check_size,
        show_default=False,
        help="The most that may be kept between runs, such as 500MB; 0 is batch.",
    ),
]

JsonFile = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="All figures; - is stdout.")
]
SampleRows = Annotated[
    int,
    typer.Option(
        "--sample",
        metavar="ROWS",
        min=0,
        max=MOST_SAMPLED,
        show_default=False,
        help="Read so many rows of each table at random, to count what the query's filters pass.",
    ),
]


@app.command(
    "plan",
    epilog="**Examples**\n\n"
    "`forerun plan report.sql --tables data/`\n\n"
    "`forerun plan report.sql --tables data/ --changing orders,lineitem --format sql`\n\n"
    "`forerun plan report.sql --tables data/ --arrived 0.4,1 --weights 0.2,1 --format json`\n\n"
    "`forerun plan report.sql --tables data/ --problem ivm --state-budget 500MB`\n\n"
    "`forerun plan report.sql --tables data/ --sample 2000`\n\n"
    "`forerun plan report.sql --tables data/ --method im1 --rules-off EagerAggregate`",
)
def plan_command(  # noqa: PLR0913 - the options of the command
    report: ReportFile,
    tables: Tables,
    changing: Changing = None,
    arrived: Arrived = "0.58,0.79,1",
    weights: Weights = "0.25,0.3,1",
    method: Annotated[
        Method,
        typer.Option(
            "--method",
            help="All incremental methods by cost, one of them alone, or one run at the end.",
        ),
    ] = Method.auto,
    problem: ProblemOption = ProblemName.pdw,
    results_at: ResultsAt = None,
    rules_off: RulesOff = None,
    state_budget: StateBudget = "",
    sample: SampleRows = 0,
    output: Annotated[Format, typer.Option("--format", help="How to show it.")] = Format.tree,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    show_memo: Annotated[
        bool, typer.Option("--memo", help="Show the memo: groups, time-varying relations, rules.")
    ] = False,
    show_steps: Annotated[
        bool, typer.Option("--steps", help="Show how the plan was found, rule by rule.")
    ] = False,
    why_not: Annotated[
        bool,
        typer.Option("--why-not", help="Show what was not chosen, and by how much it is dearer."),
    ] = False,
) -> None:
    """Plan the runs of a day and show what runs early, what is kept, and what it should cost."""
    from planner import api
    from planner.explain import memo, methods, record, sql, steps, tree

    points = parse_points(arrived, weights)
    found_tables = find_tables(tables)
    growing = changing_tables(found_tables, changing)
    wanted = parse_problem(problem, results_at, len(points))
    settings = parse_settings(rules_off, state_budget)
    request = build_request(
        report, found_tables, growing, points, method.value, wanted, settings, sample
    )
    found = api.plan(request)
    if as_json or output is Format.json:
        console.say_json(record.as_json(found, api.alternatives(found)))
    elif why_not:
        console.say(methods.why_not(found, api.alternatives(found)))
    elif show_steps:
        console.say(steps.render(found))
    elif show_memo:
        console.say(memo.render(found))
    elif output is Format.sql:
        console.say(sql.render(found.plan))
    else:
        console.say(tree.render(found, api.alternatives(found)))


class DayMethod(StrEnum):
    auto = "auto"
    progressive = "progressive"
    im1 = "im1"
    im2 = "im2"
    ojv = "ojv"
    hov = "hov"
    cv = "cv"
    batch = "batch"


class Engine(StrEnum):
    spark = "spark"
    sail = "sail"


@app.command(
    "simulate",
    epilog="**Examples**\n\n"
    "`forerun simulate report.sql --tables data/ --engine sail`\n\n"
    "`forerun simulate report.sql --tables data/ --correlate lineitem.l_orderkey=orders.o_orderkey`"
    "\n\n`forerun simulate report.sql --tables data/ --store s3://bucket/try --json day.json`",
)
def simulate_command(  # noqa: PLR0913 - the options of the command
    report: ReportFile,
    tables: Tables,
    engine: Annotated[
        Engine, typer.Option("--engine", help="Spark, or Sail: quick, without a JVM.")
    ] = Engine.spark,
    changing: Changing = None,
    correlate: Annotated[
        list[str] | None,
        typer.Option(
            "--correlate",
            metavar="CHILD.KEY=PARENT.KEY",
            help="Rows of the child arrive with their parent. May be given several times.",
        ),
    ] = None,
    arrived: Arrived = "0.58,0.79,1",
    weights: Weights = "0.25,0.3,1",
    seed: Annotated[int, typer.Option("--seed", help="Which rows come when.")] = 1,
    store: StoreUri = None,
    method: Annotated[
        DayMethod,
        typer.Option(
            "--method",
            help="All incremental methods by cost, every run whatever it costs, one method alone, "
            "or one run at the end.",
        ),
    ] = DayMethod.auto,
    problem: ProblemOption = ProblemName.pdw,
    results_at: ResultsAt = None,
    rules_off: RulesOff = None,
    state_budget: StateBudget = "",
    sample: SampleRows = 0,
    json_file: JsonFile = None,
    master: Annotated[str, typer.Option("--master", help="Where Spark runs.")] = "local[*]",
) -> int:
    """Run a whole day on a folder of tables, then the plain query, and compare."""
    from forerun import simulation_command as command

    points = parse_points(arrived, weights)
    options = command.Options(
        report=report,
        sql=read_sql(report),
        tables=tables,
        engine=engine.value,
        changing=changing,
        correlate=tuple(correlate or ()),
        points=points,
        seed=seed,
        store=store,
        json_file=json_file,
        master=master,
        work=home_folder() / "simulations",
        method=method.value,
        problem=parse_problem(problem, results_at, len(points)),
        rules_off=parse_rules(rules_off),
        state_budget=state_budget,
        sample=sample,
    )
    return command.run(options)


class DemoStore(StrEnum):
    file = "file"
    s3 = "s3"


@app.command("demo", epilog="**Examples**\n\n`forerun demo`\n\n`forerun demo --store s3`")
def demo_command(
    store: Annotated[
        DemoStore, typer.Option("--store", help="A folder, or a local S3 server of its own.")
    ] = DemoStore.file,
    scale: Annotated[float, typer.Option("--scale", help="Scale factor of TPC-H.")] = 1.0,
    up: Annotated[bool, typer.Option("--up", help="Airflow's UI on the demo instead.")] = False,
    stage: Annotated[
        bool, typer.Option("--stage", help="Only put the day's data where FORERUN_DATA says.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="All figures as JSON.")] = False,
) -> int:
    """Run three reports on a small shop's day, through Airflow and Spark, and draw the day."""
    from forerun.demo import command, ui

    if stage:
        return ui.stage(scale)
    if up:
        return ui.up(store.value, scale)
    return command.run(store.value, scale, as_json=as_json)


app.command("doctor")(doctor_command)
app.command("expire")(expire_command)


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
