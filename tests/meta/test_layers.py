"""Imports go one way, heavy packages stay in their adapters, the planner stays pure."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.meta.sources import ROOT, import_time, imports, is_below, modules, tracked, tree, used

# What each package may import of the others; a package that is not named may import nothing.
MAY_IMPORT = {
    "planner": (),
    "include": ("planner",),
    "spark_jobs": ("planner.contract", "planner.errors", "planner.version", "include"),
    "plugins": ("planner", "include", "forerun.airflow_policy"),
    "dags": ("planner", "include", "plugins", "forerun.demo"),
    "forerun": ("planner", "include", "spark_jobs", "plugins"),
    "scripts": ("planner", "include", "spark_jobs", "forerun"),
}
OWN = {*MAY_IMPORT, "tests"}

# Seconds to import, or a JVM: only these may do it when they are imported.
HEAVY = {
    "pyspark": ("spark_jobs",),
    "pysail": ("spark_jobs",),
    "boto3": ("include/stores/s3_store.py",),
    "botocore": ("include/stores/s3_store.py",),
    "great_expectations": ("spark_jobs/checks/evaluation.py",),
    "airflow": ("plugins", "dags", "forerun/demo/arrivals.py", "forerun/airflow_policy.py"),
    "pandas": (),
    "duckdb": (),
}
# In dags/ and plugins/: tasks have no metadata database in Airflow 3, though `dag.test` lets them.
AIRFLOW_PRIVATE = ("airflow.models", "airflow.utils.session", "airflow.settings", "sqlalchemy")
# The planner answers from its arguments alone.
IMPURE = (
    "os", "sys", "io", "time", "random", "secrets", "uuid", "socket", "subprocess", "pathlib",
    "tempfile", "shutil", "glob", "threading", "asyncio", "multiprocessing", "logging", "urllib",
    "http", "requests", "locale", "platform", "pickle", "sqlite3",
)  # fmt: skip
# How deeply Python functions may call themselves says nothing to the planner.
NO_INPUT = {("planner/nesting.py", "sys")}
IMPURE_CALLS = {"open", "input", "print", "eval", "exec", "now", "today", "utcnow"}


# Inside a package: a room may import the rooms above it in this list, and no other.
ROOMS = {
    "planner": (
        "version", "errors", "nesting", "algebra", "contract", "cost", "request", "props", "memo",
        "tvr", "exact", "stats", "search", "rules", "sql", "lifting", "sampling", "gc_pause",
        "temporal", "materialize", "checks", "stages", "result", "not_incremental", "api",
        "report_group", "schedule", "explain",
    ),
    "include": (
        "reports", "machine", "stores", "state", "sources", "days", "verify", "engines", "runs",
        "times", "past", "oncall", "telemetry",
    ),
    "plugins/forerun_airflow": (
        "versions", "connections", "day", "retries", "assets", "pages", "watching", "tasks",
        "authoring", "links", "plugin",
    ),
    "planner/algebra/aggregates": (
        "types", "states", "counted", "simple_states", "sketches", "record", "moments", "table",
        "functions", "shown",
    ),
    "planner/sql": (
        "syntax", "binding", "subqueries", "printing", "spark_faults", "reading", "query_block",
        "frontend", "question",
    ),
    "planner/rules": (
        "join_block", "normalize", "explore", "exploration", "incremental", "methods",
    ),
    "spark_jobs": (
        "installed", "paths", "engine", "event_recorder", "engines", "changelog", "inputs",
        "work", "bounds", "checks", "failures", "declarations", "metrics", "judged", "stages",
        "executor", "lifted", "application", "cluster_probe", "class_data_job", "run",
    ),
    "forerun": (
        "airflow_policy", "provider_info", "console", "simulation", "past", "night", "doctors",
        "first_report", "demo", "cli", "__main__",
    ),
}  # fmt: skip


LINKS = {"planner": "planner", "include": "include", "spark_jobs": "spark_jobs"}
LINKS["airflow"] = "plugins/forerun_airflow"


def _package(path: Path) -> str:
    return path.parts[0]


def _own(module: str) -> str:
    """The name of a module of ours by the folder that it lies in: ``forerun.planner.api`` is
    ``planner.api``, and what is no room behind a link stays below ``forerun``."""
    for link, folder in LINKS.items():
        if is_below(module, f"forerun.{link}"):
            return folder.partition("/")[0] + module.removeprefix(f"forerun.{link}")
    return module


def test_rooms_behind_links_are_folders_of_the_checkout():
    links = {p.name: str(p.readlink()) for p in (ROOT / "forerun").iterdir() if p.is_symlink()}
    assert links == {link: f"../{folder}" for link, folder in LINKS.items()}


def test_imports_go_one_way():
    wrong = []
    for path in modules():
        package = _package(path)
        for module, line in imports(tree(path)):
            module = _own(module)
            top = module.partition(".")[0]
            if top not in OWN or top == package:
                continue
            if not any(is_below(module, allowed) for allowed in MAY_IMPORT[package]):
                wrong.append(f"{path}:{line} imports {module}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", sorted(ROOMS))
def test_rooms_of_a_package_are_in_one_order(package: str):
    order = {room: place for place, room in enumerate(ROOMS[package])}
    folder = Path(package)
    inside = {p: p.relative_to(folder) for p in modules(folder.parts[0]) if folder in p.parents}
    rooms = {path: inner.parts[0].removesuffix(".py") for path, inner in inside.items()}
    assert set(rooms.values()) - {"__init__"} == set(order), "the order has other rooms"
    inner = f"{_dotted(folder)}."
    wrong = []
    for path, room in rooms.items():
        if room == "__init__":
            continue
        for module, line in imports(tree(path)):
            name = _own(module)
            other = name.removeprefix(inner).partition(".")[0] if name.startswith(inner) else ""
            if other in order and order[room] < order[other]:
                wrong.append(f"{path}:{line}: {room} comes before {other}")
    assert not wrong, "\n".join(wrong)


def _dotted(path: Path) -> str:
    """The name by which :func:`_own` has a module or a folder."""
    parts = [part.removesuffix(".py") for part in path.parts if part != "__init__.py"]
    return ".".join(part for part in parts if part != "forerun_airflow")


def test_imports_go_one_way_at_every_level():
    """Of the files and folders that lie in one folder, none needs another that needs it, however
    many there are in between: so each folder can be read from one end to the other."""
    paths = {_dotted(path): path for path in modules(*(set(MAY_IMPORT) - {"dags", "scripts"}))}
    needs: dict[str, dict[str, set[str]]] = {}
    for name, path in paths.items():
        for module, _ in used(path):
            other = _own(module)
            while other and other not in paths:
                other = other.rpartition(".")[0]
            mine, theirs = name.split("."), other.split(".")
            level = next((n for n, (a, b) in enumerate(zip(mine, theirs)) if a != b), 0)  # noqa: B905
            if other and level:
                room = needs.setdefault(".".join(mine[:level]), {})
                room.setdefault(mine[level], set()).add(theirs[level])
    assert len(needs) > 30
    for folder, graph in needs.items():
        try:
            tuple(TopologicalSorter(graph).static_order())
        except CycleError as error:
            circle = " -> ".join(error.args[1])
            raise AssertionError(f"in {folder}: {circle}") from None


def test_the_search_stays_out_of_dag_files():
    found = [
        f"{path}:{line} imports {module}"
        for path in modules("dags")
        for module, line in imports(tree(path))
        if is_below(module, "forerun.planner") and not is_below(module, "forerun.planner.errors")
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("package", sorted(HEAVY))
def test_heavy_packages_are_imported_late(package):
    found = [
        f"{path}:{line}"
        for path in modules()
        if not str(path).startswith(HEAVY[package])
        for module, line in import_time(path)
        if is_below(module, package)
    ]
    assert not found, f"{package} is imported at module level by " + ", ".join(found)


def test_tasks_keep_away_from_the_metadata_database():
    found = [
        f"{path}:{line} imports {module}"
        for path in modules("dags", "plugins", "planner", "include")
        for module, line in imports(tree(path))
        if any(is_below(module, private) for private in AIRFLOW_PRIVATE)
    ]
    assert not found, "\n".join(found)


def test_the_planner_is_pure():
    import ast

    found = []
    for path in modules("planner"):
        for module, line in imports(tree(path)):
            if (str(path), module) in NO_INPUT:
                continue
            if any(is_below(module, impure) for impure in IMPURE):
                found.append(f"{path}:{line} imports {module}")
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", "")
                if name in IMPURE_CALLS:
                    found.append(f"{path}:{node.lineno} calls {name}")
    assert not found, "\n".join(found)


def test_importing_the_planner_loads_nothing_heavy():
    import subprocess
    import sys

    names = sorted(HEAVY)
    code = (
        "import sys, forerun.planner.contract, forerun.planner.request, forerun.planner.errors;"
        f"print([n for n in {names} if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_there_is_something_to_check():
    # A wrong root would make every test above pass.
    assert len(modules("planner")) > 10
    assert Path("pyproject.toml") in tracked()
