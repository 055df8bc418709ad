"""What the doctor makes of a cluster's answers; of a real one's in tests/spark/test_cluster.py."""

from __future__ import annotations

import json
import socket
import sys

import pytest

from forerun.cli import app as cli
from forerun.doctors.cluster import judged, reachable

OWN = ".".join(map(str, sys.version_info[:3]))
GOOD = {
    "executors": ["h1:1", "h2:2"],
    "waited_s": 3,
    "python": {"versions": [OWN], "missing": [], "clocks_apart_s": 0.0},
    "store": {"rows": 1000, "written": 1000, "files": 4},
}


def states(facts: dict[str, object], files: int = 4) -> dict[str, tuple[str, str]]:
    return {f.name: (f.state, f"{f.found} -> {f.todo}") for f in judged(facts, files)}


def test_a_cluster_that_has_everything() -> None:
    assert {state for state, _ in states(GOOD).values()} == {"ok"}


@pytest.mark.parametrize(
    ("change", "name", "state", "words"),
    [
        ({"executors": []}, "executors", "problem", "are workers alive"),
        ({"python": {**GOOD["python"], "clocks_apart_s": 90.5}}, "clocks", "problem",
         "at least 90.5 s"),
        ({"python": {**GOOD["python"], "versions": ["3.8.1"]}}, "executor-python", "note", "3.8.1"),
        ({"python": {**GOOD["python"], "missing": ["pyarrow"]}}, "executor-python", "note",
         "without pyarrow"),
        ({"store": {"failed": "Class org.apache.hadoop.fs.s3a.S3AFileSystem not found"}},
         "executor-store", "problem", "forerun setup --s3"),
        ({"store": {"failed": "S3Exception: Access Denied (Service: S3, Status Code: 403)"}},
         "executor-store", "problem", "AWS_SECRET_ACCESS_KEY"),
        ({"store": {"failed": "Connection refused"}}, "executor-store", "problem", "127.0.0.1"),
        ({"store": {"failed": "?"}}, "executor-store", "problem", "log of an executor"),
        ({"store": {"rows": 500, "written": 1000, "files": 4}}, "executor-store", "problem",
         "read back 500"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_what_to_do(change, name, state, words) -> None:
    found = states(GOOD | change)
    assert found[name][0] == state
    assert words in found[name][1]
    others = {state for other, (state, _) in found.items() if other != name}
    assert others <= {"ok"}


def test_executors_without_python_run_reports_all_the_same() -> None:
    found = states(GOOD | {"python": {"failed": "[X] Cannot run program\nmore"}})
    assert found["executor-python"][0] == found["clocks"][0] == "note"
    assert "Cannot run program -> Only expectations" in found["executor-python"][1]
    assert "problem" not in {state for state, _ in found.values()}


def test_a_folder_that_executors_do_not_share() -> None:
    state, said = states(GOOD, files=0)["executor-store"]
    assert state == "problem"
    assert "use one on S3" in said


@pytest.mark.parametrize(
    ("master", "words"),
    [
        ("spark://127.0.0.1:{closed}", "127.0.0.1:{closed}: Connection refused"),
        ("spark://127.0.0.1:{closed},127.0.0.1:{closed}", "; 127.0.0.1:{closed}"),
        ("k8s://https://127.0.0.1:{closed}", "Connection refused"),
        ("spark://no.such.host.invalid:7077", "no.such.host.invalid:7077"),
        ("spark://host", "is not the URL of a Spark master"),
        ("spark://host:port", "is not the URL of a Spark master"),
        ("mesos://host:1", "is not the URL of a Spark master"),
        ("yarn", "nothing says where the cluster is"),
    ],
)
def test_a_master_that_is_not_there(master: str, words: str) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        closed = reserved.getsockname()[1]
        found = reachable(master.format(closed=closed), {})
    assert found.state == "problem"
    assert words.format(closed=closed) in found.found
    assert found.todo


@pytest.mark.parametrize("template", ["spark://127.0.0.1:{}", "spark://127.0.0.1:1,127.0.0.1:{}"])
def test_one_of_several_masters_is_enough(template: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert reachable(template.format(server.getsockname()[1]), {}).state == "ok"


@pytest.mark.parametrize("master", ["local", "local[2]", "local-cluster[2,1,1024]"])
def test_this_machine_is_there(master: str) -> None:
    assert reachable(master, {}).state == "ok"
    assert reachable("yarn", {"HADOOP_CONF_DIR": "/etc/hadoop"}).state == "ok"


@pytest.mark.spark
def test_the_command_says_it_after_what_this_machine_has(tmp_path, capsys) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        url = f"spark://127.0.0.1:{reserved.getsockname()[1]}"
        assert cli.run(["doctor", "--store", str(tmp_path), "--master", url, "--json"]) == 2
    last = json.loads(capsys.readouterr().out)["findings"][-1]
    assert (last["name"], last["state"]) == ("master", "problem")
