"""``forerun doctor --master URL``: what a cluster lacks to run reports, and what to do about it.

First whether anybody answers there at all; then a small application is submitted as a run is, and
what its executors found (:mod:`forerun.spark_jobs.cluster_probe`) is judged here.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from forerun.doctors.findings import DoctorFinding
from forerun.include.machine import jvm
from forerun.include.machine.job_archive import PROBE, job_archive
from forerun.include.stores.opening import open_store
from forerun.planner.errors import ForerunError

FOLDER = "probe/cluster"
WAIT_SECONDS = 60.0
_SUBMIT_SECONDS = 240.0
_CONNECT_SECONDS = 5.0
_MOST_APART = 5.0
"""Seconds that clocks may differ: what is written now must not look much older or newer."""
_ERROR = re.compile(r"\S*(Exception|Error)\b")
_S3A_MISSING = ("S3AFileSystem not found", "No FileSystem for scheme", "NoClassDefFoundError")
_DENIED = ("AccessDenied", "Access Denied", "403", "InvalidAccessKeyId", "NoAuthWithAWS")
_NO_ANSWER = ("UnknownHost", "Connection refused", "connect timed out", "Unable to execute HTTP")


def examine_cluster(
    master: str, store_uri: str, *, wait: float = WAIT_SECONDS
) -> tuple[DoctorFinding, ...]:
    """Look at the cluster at ``master``, for reports whose store is at ``store_uri``. Waits up to
    ``wait`` seconds for executors."""
    answers = reachable(master, os.environ)
    if answers.state == "problem":
        return (answers,)
    try:
        facts, files = _look(master, store_uri, wait)
    except ForerunError as error:
        failed = DoctorFinding(
            name="application", state="problem", found=error.message, todo=error.hint
        )
        return (answers, failed)
    return (answers, *judged(facts, files), *_deploy_modes(master))


def _look(master: str, store_uri: str, wait: float) -> tuple[dict[str, Any], int]:
    """Return what the application found out, and how many files of its executors are seen from
    here. The files are deleted again."""
    store = open_store(store_uri)
    key = f"{FOLDER}/{uuid.uuid4().hex}"
    try:
        facts = _submit(master, store_uri, store.uri(key), wait)
        return facts, sum(file.key.endswith(".parquet") for file in store.list(f"{key}/"))
    finally:
        with suppress(ForerunError):  # what is left over there is small, and named "probe"
            for file in store.list(f"{key}/"):
                store.delete(file.key)


def reachable(master: str, environ: Mapping[str, str]) -> DoctorFinding:
    """Return whether somebody answers at the master's address; of several, one is enough."""
    if jvm.is_local(master) or master.startswith("local-cluster["):
        return _ok("master", f"{master}: this machine")
    if master == "yarn":
        named = next((n for n in ("HADOOP_CONF_DIR", "YARN_CONF_DIR") if environ.get(n)), "")
        if named:
            return _ok("master", f"YARN of {named}")
        todo = "Set HADOOP_CONF_DIR to the folder with the cluster's yarn-site.xml."
        return _problem("master", "yarn, and nothing says where the cluster is", todo)
    said = []
    for host, port in _addresses(master):
        try:
            socket.create_connection((host, port), timeout=_CONNECT_SECONDS).close()
        except OSError as error:
            said.append(f"{host}:{port}: {error.strerror or error}")
        else:
            return _ok("master", f"{host}:{port} answers")
    if not said:
        todo = "Use local[n], spark://host:port, k8s://https://host:port or yarn."
        return _problem("master", f"{master!r} is not the URL of a Spark master", todo)
    todo = "Start it, correct the URL (the connection's host and port), or open the network to it."
    return _problem("master", "nobody answers: " + "; ".join(said), todo)


def judged(facts: Mapping[str, Any], files_here: int) -> tuple[DoctorFinding, ...]:
    """Return the findings of what the application found out. ``files_here``: how many of the files
    that executors wrote into the store are seen from this machine."""
    hosts = facts["executors"]
    if not hosts:
        todo = (
            "See the master's page: are workers alive, and has one of them free cores and as much "
            "memory as spark.executor.memory asks for? Can workers connect to this machine "
            "(spark.driver.host)?"
        )
        found = f"no executor within {facts['waited_s']} s"
        return (_problem("executors", found, todo),)
    return (
        _ok("executors", f"{len(hosts)}, after {facts['waited_s']} s: {', '.join(hosts)}"),
        _python(facts["python"]),
        _clocks(facts["python"]),
        _store(facts["store"], files_here),
    )


def _python(facts: Mapping[str, Any]) -> DoctorFinding:
    """A note at most: executors start Python for a few expectations only."""
    own = ".".join(map(str, sys.version_info[:2]))
    todo = (
        f"Only expectations on JSON and strftime formats need it. For those, install Python {own} "
        "with the packages of requirements.lock on the workers, and name it in "
        "spark.pyspark.python."
    )
    if "failed" in facts:
        found = f"does not start: {_first_line(facts['failed'])}"
    elif any(version.rsplit(".", 1)[0] != own for version in facts["versions"]):
        found = f"{', '.join(facts['versions'])}, and the driver has {own}"
    elif facts["missing"]:
        found = f"{', '.join(facts['versions'])} without {', '.join(facts['missing'])}"
    else:
        return _ok("executor-python", ", ".join(facts["versions"]))
    return DoctorFinding(name="executor-python", state="note", found=found, todo=todo)


def _clocks(facts: Mapping[str, Any]) -> DoctorFinding:
    apart = facts.get("clocks_apart_s")
    if apart is None:
        found, todo = "not compared: it takes Python on executors", "Look at them by hand."
        return DoctorFinding(name="clocks", state="note", found=found, todo=todo)
    if apart <= _MOST_APART:
        return _ok("clocks", f"within {_MOST_APART:.0f} s of this machine's")
    todo = "Synchronize the clocks of all machines (NTP)."
    return _problem("clocks", f"at least {apart} s from this machine's", todo)


def _store(facts: Mapping[str, Any], files_here: int) -> DoctorFinding:
    name = "executor-store"
    if failed := facts.get("failed"):
        return _problem(name, _first_line(failed), _store_todo(failed))
    if facts["rows"] == facts["written"] and files_here == facts["files"]:
        return _ok(name, "executors write to it and read from it")
    found = (
        f"executors wrote {facts['written']} rows in {facts['files']} files and read back "
        f"{facts['rows']}; this machine sees {files_here} files"
    )
    todo = "A folder is a store only where all machines share it: use one on S3."
    return _problem(name, found, todo)


def _store_todo(said: str) -> str:
    if any(words in said for words in _S3A_MISSING):
        return (
            "Run `forerun setup --s3` where applications are submitted: the jars are sent to the "
            "cluster."
        )
    if any(words in said for words in _DENIED):
        return (
            "Give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to the driver, or the workers roles."
        )
    if any(words in said for words in _NO_ANSWER):
        return "The workers must reach the address in AWS_ENDPOINT_URL_S3; 127.0.0.1 is their own."
    return "Look at the log of an executor."


def _deploy_modes(master: str) -> tuple[DoctorFinding, ...]:
    if not master.startswith("spark://"):
        return ()
    found = "client only: Spark standalone runs no Python driver in cluster mode"
    todo = "Leave deploy-mode out of the Airflow connection."
    return (DoctorFinding(name="deploy-mode", state="note", found=found, todo=todo),)


def _submit(master: str, store_uri: str, folder: str, wait: float) -> dict[str, Any]:
    command = [str(jvm.spark_submit()), "--master", master]
    for name, value in jvm.submit_options(store_uri, tiny=True, master=master):
        command += ["--conf", f"{name}={value}"]
    command += ["--py-files", str(job_archive()), str(PROBE)]
    command += ["--folder", folder, "--wait", str(wait)]
    try:
        done = subprocess.run(
            command,
            env=jvm.driver_environment(),
            capture_output=True,
            text=True,
            timeout=wait + _SUBMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ForerunError(
            f"the application did not end within {error.timeout:.0f} s",
            hint="See the master's page: do its tasks wait for cores, or for another application?",
            code="cluster",
        ) from None
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        lines = done.stderr.strip().splitlines() or ["it said nothing"]
        words = [line for line in lines if _ERROR.match(line)] or lines
        raise ForerunError(
            f"the application ended with {done.returncode}: {words[-1]}",
            hint="Try spark-submit by hand with this master; its log says more.",
            code="cluster",
        )
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def _addresses(master: str) -> list[tuple[str, int]]:
    """Hosts and ports of ``spark://a:1,b:2`` and ``k8s://https://host:443``."""
    scheme, _, rest = master.partition("://")
    if scheme not in ("spark", "k8s"):
        return []
    found = []
    for part in rest.split(","):
        parts = urlsplit(part if "://" in part else f"https://{part}")
        with suppress(ValueError):  # a port that is no number
            default = {"http": 80, "https": 443}.get(parts.scheme) if scheme == "k8s" else None
            if parts.hostname and (port := parts.port or default):
                found.append((parts.hostname, port))
    return found


def _first_line(said: str) -> str:
    return said.strip().splitlines()[0][:300]


def _ok(name: str, found: str) -> DoctorFinding:
    return DoctorFinding(name=name, state="ok", found=found)


def _problem(name: str, found: str, todo: str) -> DoctorFinding:
    return DoctorFinding(name=name, state="problem", found=found, todo=todo)
