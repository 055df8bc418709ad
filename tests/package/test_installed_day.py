"""A day of a team that has installed the wheel beside its own project."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from forerun.planner.version import VERSION
from tests.meta.sources import ROOT
from tests.package.installed import Installed
from tests.spark.standalone import standalone
from tests.spark.test_cluster import small

pytestmark = pytest.mark.airflow
DAY = "2026-03-01"
EXPECTED = {"a": (15, 2), "b": (0, 2), "c": (7, 1), None: (4, 1)}
_ORIGINS = (
    "import forerun, forerun.planner.api, forerun.include.stores.opening, forerun.spark_jobs.run,"
    "forerun.airflow, include.start_day, planner, sys;"
    "print(*sorted({m.__file__ for n, m in sys.modules.items()"
    " if n.partition('.')[0] in ('forerun', 'include', 'planner') and m.__file__}))"
)
_PAGES = (
    "/forerun/",
    "/forerun/reports/revenue",
    f"/forerun/days/revenue/{DAY}",
    f"/forerun/days/revenue/{DAY}/plan",
    "/forerun/assets/style.css",
    "/forerun/assets/icon.svg",
)


def listed(installed: Installed, what: str, **more: str) -> list[dict[str, str]]:
    """What an ``airflow`` command lists."""
    command = [what, "list"] if what == "providers" else [what]
    said = installed.said("-m", "airflow", *command, "-o", "json", **more)
    found: list[dict[str, str]] = json.loads(said)
    return found


def result(store: Path, report: str = "revenue") -> dict[str | None, tuple[int, int]]:
    """The rows that the pointer of the day names."""
    pointer = json.loads((store / "results" / report / DAY / "pointer.json").read_text())
    folder = Path(pointer["folder"].removeprefix("file://"))
    rows = [
        r for file in pointer["files"] for r in pq.read_table(folder / file["name"]).to_pylist()
    ]
    return {row["item"]: (row["revenue"], row["n"]) for row in rows}


def test_nothing_comes_from_the_checkout_and_names_of_the_team_stay_its_own(
    installed: Installed,
) -> None:
    files = installed.said("-c", _ORIGINS).split()
    assert len(files) > 100
    assert [file for file in files if file.startswith(f"{ROOT}/")] == []
    own = [file for file in files if file.startswith(f"{installed.project}/")]
    assert {Path(file).parent.name for file in own} == {"include", "planner"}


def test_the_command_is_installed(installed: Installed) -> None:
    command = installed.python.parent / "forerun"
    assert installed.said(str(command), "--version") == f"forerun {VERSION}\n"


def test_airflow_lists_plugin_and_provider(installed: Installed) -> None:
    plugins = {plugin["name"]: plugin["source"] for plugin in listed(installed, "plugins")}
    assert set(plugins) >= {"forerun", "team"}
    assert "forerun" in plugins["forerun"]
    providers = {one["package_name"]: one["version"] for one in listed(installed, "providers")}
    assert providers["forerun"] == VERSION


def test_the_archive_for_a_cluster_is_made_of_the_installed_package(
    installed: Installed, tmp_path: Path
) -> None:
    code = (
        "from pathlib import Path; from forerun.include.machine.job_archive import job_archive;"
        f"print(job_archive(Path({str(tmp_path)!r})))"
    )
    names = set(zipfile.ZipFile(installed.said("-c", code).strip()).namelist())
    assert {
        "forerun/__init__.py",
        "forerun/spark_jobs/run.py",
        "forerun/planner/version.py",
    } <= names
    assert {name.partition("/")[0] for name in names} == {"forerun"}


@pytest.mark.parametrize("old", ["plugins/forerun_plugin.py", "tests/package/plugin_of_0_1.txt"])
def test_a_plugin_file_that_is_still_there_changes_nothing(
    old: str, installed: Installed, tmp_path: Path
) -> None:
    """Pages come once, by the entry point. The file of 0.1 imports what is not there any more,
    which Airflow logs, naming the file."""
    shutil.copy(ROOT / old, tmp_path / "forerun_plugin.py")
    folder = {"AIRFLOW__CORE__PLUGINS_FOLDER": str(tmp_path)}
    found = [one for one in listed(installed, "plugins", **folder) if one["name"] == "forerun"]
    (only,) = found
    assert only["source"]


@pytest.mark.slow
@pytest.mark.spark
def test_a_day_on_a_standalone_cluster(installed: Installed, tmp_path: Path) -> None:
    """Executors get the job from the installed package, and have nothing else of it."""
    (tmp_path / "spark-defaults.conf").write_text(
        "".join(f"{name} {value}\n" for name, value in small().items())
    )
    with standalone(tmp_path / "cluster") as cluster:
        connection = {"conn_type": "spark", "host": cluster.url.rpartition(":")[0]}
        connection |= {"port": int(cluster.url.rpartition(":")[2])}
        installed.said(
            "-m", "airflow", "dags", "test", "revenue", DAY, "-c", '{"mode": "progressive"}',
            AIRFLOW_CONN_SPARK_DEFAULT=json.dumps(connection),
            SPARK_CONF_DIR=str(tmp_path),
            FORERUN_STORE=(tmp_path / "store").as_uri(),
            TEAM_DATA=str(tmp_path / "data"),
        )  # fmt: skip
        assert len(cluster.state()["completedapps"]) == 3
    assert result(tmp_path / "store") == EXPECTED


@pytest.mark.spark
def test_a_day_of_three_runs_and_its_pages(installed: Installed) -> None:
    said = installed.said(
        "-m", "airflow", "dags", "test", "revenue", DAY, "-c", '{"mode": "progressive"}'
    )
    store = Path(installed.environment["FORERUN_STORE"].removeprefix("file://"))
    assert result(store) == EXPECTED, said[-3000:]
    (generation,) = (store / "reports" / "revenue" / DAY).iterdir()
    commits = sorted(file.stem for file in (generation / "commits").glob("*.json"))
    assert commits == ["run-1", "run-2", "run-3"]
    script = Path(__file__).with_name("pages_script.py")
    answered = json.loads(installed.said(str(script), *_PAGES).splitlines()[-1])
    assert {page: status for page, (status, _) in answered["pages"].items()} == dict.fromkeys(
        _PAGES, 200
    )
    assert "revenue" in answered["pages"][f"/forerun/days/revenue/{DAY}"][1]
    assert "<svg" in answered["pages"][f"/forerun/days/revenue/{DAY}/plan"][1]
    assert answered["nobody"] != 200
    assert answered["views"] == ["Forerun", "Forerun"]
