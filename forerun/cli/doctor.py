"""``forerun doctor``: what this machine lacks to run reports, and what to do about each thing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from forerun import console
from forerun.doctors.airflow import examine_airflow
from forerun.doctors.cluster import examine_cluster
from forerun.doctors.findings import DoctorFinding, State
from forerun.doctors.package import examine_package
from forerun.doctors.spark_connect import SCHEME, examine_endpoint
from forerun.include.machine import jvm
from forerun.include.machine.deployment import deployment_defaults
from forerun.include.machine.pyspark_files import find_trouble, pyspark_version
from forerun.include.reports.spark.session import FIXED, SETTING_HINT, differing
from forerun.include.stores.opening import default_store, open_store
from forerun.planner.errors import ForerunError

LEAST_FREE_BYTES = 2 * 1024**3

Probe = Callable[[], DoctorFinding]


def doctor_command(
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URI",
            help="The store to probe (a folder, file:// or s3://), by default FORERUN_STORE, else "
            "the one at home; writes and removes one key.",
        ),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(
            "--master",
            metavar="URL",
            help="Also the Spark cluster there (spark://host:7077, k8s://https://host, yarn): a "
            "small application looks around on its executors. Or the Spark Connect server there "
            "(sc://host:15002).",
        ),
    ] = None,
    with_airflow: Annotated[
        bool,
        typer.Option(
            "--airflow",
            help="Also Airflow's database, as its scheduler does: whether backfills get the pools "
            "that DAGs name for them.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The findings as JSON.")] = False,
) -> int:
    """Check Java, Spark, the S3A jars, the class-data archive, a store, Airflow and disk space;
    with --master, a Spark cluster; with --airflow, pools of backfills."""
    uri = store or default_store()
    findings = examine(uri)
    if master is not None:
        on_server = master.startswith(SCHEME)
        findings += (examine_endpoint if on_server else examine_cluster)(master, uri)
    if with_airflow:
        findings += examine_airflow()
    broken = any(f.state == "problem" for f in findings)
    if as_json:
        console.say_json({"ok": not broken, "findings": [asdict(f) for f in findings]})
    else:
        console.say(render(findings))
    return 2 if broken else 0


def examine(store_uri: str) -> tuple[DoctorFinding, ...]:
    """Look at everything; one broken thing never hides the next."""
    on_s3 = jvm.is_s3(store_uri)
    probes: list[tuple[str, Probe]] = [
        ("forerun", examine_package),
        ("java", java),
        ("pyspark", pyspark),
        ("spark-submit", submit),
        ("session", session),
        ("s3a-jars", lambda: jars(needed=on_s3)),
        ("class-data", lambda: archive(on_s3=False)),
        *([("class-data-s3", lambda: archive(on_s3=True))] if on_s3 else []),
        ("airflow", airflow),
        ("disk", disk),
        ("store", lambda: store(store_uri)),
    ]
    return tuple(_ask(name, probe) for name, probe in probes)


def render(findings: tuple[DoctorFinding, ...]) -> str:
    """A line per finding; under what is not right, what to do."""
    width = max(len(f.name) for f in findings)
    lines = []
    for f in findings:
        lines.append(f"{f.state:8}{f.name:<{width}}  {f.found}")
        if f.todo:
            lines.append(f"{'':8}{'':<{width}}  -> {f.todo}")
    return "\n".join(lines)


def java() -> DoctorFinding:
    """Java 17 or newer, the one that spark-submit will take."""
    todo = jvm.JAVA_TODO
    executable = jvm.java_executable()
    if executable is None:
        return DoctorFinding(name="java", state="problem", found="no java found", todo=todo)
    said = jvm.java_version(executable)
    major = jvm.java_major(said)
    if not major:
        found = f"{executable} does not run"
        return DoctorFinding(name="java", state="problem", found=found, todo=todo)
    state: State = "ok" if major >= jvm.LEAST_JAVA else "problem"
    found = f"Java {major} ({executable})"
    return DoctorFinding(name="java", state=state, found=found, todo="" if state == "ok" else todo)


def pyspark() -> DoctorFinding:
    """pyspark whole, and not overwritten by pyspark-client, whose files go to the same folder."""
    trouble = find_trouble()
    if trouble is not None:
        return DoctorFinding(
            name="pyspark", state="problem", found=trouble.found, todo=trouble.todo
        )
    return DoctorFinding(name="pyspark", state="ok", found=f"pyspark {pyspark_version()}")


def submit() -> DoctorFinding:
    """spark-submit of this environment starts a JVM and says its version."""
    program = jvm.spark_submit()
    if not program.is_file():
        found = f"no {program}"
        todo = "It comes with pyspark, into the same environment: `pip install 'forerun[spark]'`."
        return DoctorFinding(name="spark-submit", state="problem", found=found, todo=todo)
    done = subprocess.run(
        [program, "--version"],
        env=jvm.driver_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    version = re.search(r"version (\d\S+)", done.stdout + done.stderr)
    if done.returncode or version is None:
        words = (done.stderr or done.stdout).strip().splitlines()
        found = f"does not start: {words[-1] if words else 'no output'}"
        todo = "Put right first what is said of Java and of pyspark above."
        return DoctorFinding(name="spark-submit", state="problem", found=found, todo=todo)
    return DoctorFinding(name="spark-submit", state="ok", found=f"Spark {version[1]}")


def session() -> DoctorFinding:
    """No setting on which the meaning of SQL depends differs in this machine's
    ``spark-defaults.conf``. What a cluster's server sets beside it, ``--master`` finds."""
    given = deployment_defaults(os.environ, jvm.spark_home())
    if found := list(differing(given.get)):
        said = ", ".join(f"{one.name}={one.found}" for one in found)
        found_there = f"spark-defaults.conf sets {said}: runs will fail"
        return DoctorFinding(name="session", state="problem", found=found_there, todo=SETTING_HINT)
    found_there = f"none of the {len(FIXED)} settings that SQL depends on is set otherwise"
    return DoctorFinding(name="session", state="ok", found=found_there)


def jars(*, needed: bool) -> DoctorFinding:
    """The S3A jars: needed for a store on S3, optional otherwise."""
    files = jvm.driver_files()
    if files.jars is None:
        return DoctorFinding(
            name="s3a-jars",
            state="problem" if needed else "note",
            found="not installed: Spark cannot use a store on S3",
            todo="Run `forerun setup --s3` if you want one.",
        )
    count = len(list(files.jars.glob("*.jar")))
    return DoctorFinding(name="s3a-jars", state="ok", found=f"{count} jars in {files.jars}")


def archive(*, on_s3: bool) -> DoctorFinding:
    """The class-data archive is there and fits the Java and the class path of now."""
    files = jvm.driver_files()
    name, path = ("class-data-s3", files.s3a_archive) if on_s3 else ("class-data", files.archive)
    todo = "Run `forerun setup`: drivers then start in half the time."
    if path is None:
        return DoctorFinding(name=name, state="note", found="no class-data archive", todo=todo)
    known = jvm.identity_file(path)
    identity = jvm.archive_identity(files.jars if on_s3 else None)
    if not known.is_file() or json.loads(known.read_text()) != identity:
        found = "made for another Java or class path, so the JVM ignores it"
        return DoctorFinding(name=name, state="note", found=found, todo=todo)
    return DoctorFinding(name=name, state="ok", found=f"{path} ({path.stat().st_size // 10**6} MB)")


def airflow() -> DoctorFinding:
    """Airflow and its Spark provider import. In a process of its own: it takes seconds."""
    imports = (
        "import airflow, airflow.sdk, airflow.providers.apache.spark.operators.spark_submit;"
        "print(airflow.__version__)"
    )
    python = jvm.driver_environment()["PYSPARK_PYTHON"]
    done = subprocess.run(
        [python, "-c", imports], capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode:
        words = done.stderr.strip().splitlines()
        found = f"does not import: {words[-1] if words else 'no output'}"
        todo = "Run `pip install 'forerun[airflow]'` (in a checkout: `make setup`)."
        return DoctorFinding(name="airflow", state="problem", found=found, todo=todo)
    provider = metadata.version("apache-airflow-providers-apache-spark")
    found = f"Airflow {done.stdout.split()[-1]}, Spark provider {provider}"
    return DoctorFinding(name="airflow", state="ok", found=found)


def disk() -> DoctorFinding:
    """Room for Spark's shuffle files where it puts them."""
    folder = Path(tempfile.gettempdir())
    free = shutil.disk_usage(folder).free
    enough = free >= LEAST_FREE_BYTES
    return DoctorFinding(
        name="disk",
        state="ok" if enough else "problem",
        found=f"{free / 1024**3:.1f} GiB free in {folder}",
        todo="" if enough else "Free some, or set TMPDIR and SPARK_LOCAL_DIRS to a bigger disk.",
    )


def store(uri: str) -> DoctorFinding:
    """The store can be reached and written, and its conditional puts hold."""
    from forerun.include.state.probe import probe

    probe(open_store(uri), again=True)
    return DoctorFinding(name="store", state="ok", found=f"{uri}: reachable, conditional puts hold")


def _ask(name: str, probe: Probe) -> DoctorFinding:
    try:
        return probe()
    except ForerunError as error:
        return DoctorFinding(name=name, state="problem", found=error.message, todo=error.hint)
    except subprocess.TimeoutExpired as error:
        found = f"no answer within {error.timeout:.0f} s"
        todo = "The machine is overloaded, or the program hangs: try it by hand."
        return DoctorFinding(name=name, state="problem", found=found, todo=todo)
    except OSError as error:
        todo = "Check the permissions."
        return DoctorFinding(name=name, state="problem", found=str(error), todo=todo)
