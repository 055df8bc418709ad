"""The Dockerfile, which no test can build: what can be told from its text."""

from __future__ import annotations

import re
from fnmatch import fnmatch

from tests.meta.sources import ROOT

STAGES = re.split(r"(?m)^FROM ", (ROOT / "Dockerfile").read_text())[1:]
IMAGE = STAGES[-1]


def test_what_is_copied_is_there_and_not_left_out():
    left_out = (ROOT / ".dockerignore").read_text().split()
    copied = [line.split()[2:-1] for line in re.findall(r"(?m)^COPY --chown=.*$", IMAGE)]
    names = [name for line in copied for name in line]
    assert {"requirements.lock", "planner", "include", "spark_jobs", "plugins", "dags"} <= {*names}
    assert [n for n in names if not (ROOT / n).exists()] == []
    assert [n for n in names if any(fnmatch(n, pattern) for pattern in left_out)] == []


def test_packages_come_from_the_lock_and_jars_from_set_up():
    assert "RUN scripts/venv.sh" in IMAGE
    assert "RUN make jars" in IMAGE
    assert "--require-hashes" in (ROOT / "scripts" / "venv.sh").read_text()
    assert "openjdk-17-jre-headless" in IMAGE
    assert not re.search(r"\bpip3? install\b", IMAGE)


def test_containers_run_as_ordinary_users():
    for stage in STAGES[1:]:
        users = re.findall(r"(?m)^USER (\S+)$", stage)
        assert users
        assert users[-1] != "root"
