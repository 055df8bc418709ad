"""Class-data archives (AppCDS) for Spark drivers: one plain, one with the S3A jars.

A driver that maps such an archive starts in half the time. An archive fits one Java build and one
class path; beside it lies the identity of both, so that ``forerun setup`` knows when to dump again,
and ``forerun doctor`` when to say so.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from forerun.include.machine.job_archive import CLASS_DATA
from forerun.include.machine.jvm import (
    PLAIN_ARCHIVE,
    S3A_ARCHIVE,
    archive_identity,
    driver_environment,
    driver_files,
    home_folder,
    identity_file,
    s3a_options,
    spark_submit,
)
from forerun.include.machine.local_s3 import LocalS3Error, local_s3
from forerun.planner.errors import ForerunError

Say = Callable[[str], None]


class ClassDataError(ForerunError):
    """The job that loads the classes has failed. Runs work without an archive."""

    code = "class-data"


def dump_archives(say: Say) -> None:
    """Make the archives that this machine can use: the plain one, and that of the S3A jars where
    they are. ``say`` is told what takes long. Raises :class:`ClassDataError`."""
    home, files = home_folder(), driver_files()
    _dump(home / PLAIN_ARCHIVE, None, say)
    if files.jars is None:
        return
    try:
        _dump(home / S3A_ARCHIVE, files.jars, say)
    except LocalS3Error as error:
        say(f"no archive for stores on S3, which takes a local S3 server: {error.message}")


def _dump(archive: Path, jars: Path | None, say: Say) -> None:
    """Make ``archive`` unless it is there and fits; it appears whole or not at all."""
    identity = archive_identity(jars)
    known = identity_file(archive)
    if archive.is_file() and known.is_file() and json.loads(known.read_text()) == identity:
        return
    say(f"class-data archive for Spark drivers{' on S3' if jars else ''}: {archive.name} ...")
    archive.parent.mkdir(parents=True, exist_ok=True)
    fresh = archive.with_suffix(f".{os.getpid()}.new")
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        conf = [("spark.driver.extraJavaOptions", f'"-XX:ArchiveClassesAtExit={fresh}"')]
        environment, root = driver_environment(), f"{scratch}/data"
        if jars is not None:
            server = stack.enter_context(local_s3(Path(scratch) / "s3"))
            environment |= server.environment
            conf += s3a_options(jars, environment)
            root = f"{server.make_bucket('class-data')}/data"
        _run(conf, environment, root, scratch)
        fresh.replace(archive)
    known.write_text(json.dumps(identity, indent=1) + "\n")


def _run(conf: list[tuple[str, str]], environment: dict[str, str], root: str, cwd: str) -> None:
    settings = [
        ("spark.ui.enabled", "false"),
        ("spark.eventLog.enabled", "true"),
        ("spark.eventLog.dir", cwd),
        ("spark.eventLog.rolling.enabled", "false"),
        ("spark.eventLog.compress", "false"),
        ("spark.sql.warehouse.dir", f"{cwd}/warehouse"),
        *conf,
    ]
    command = [str(spark_submit()), "--master", "local[2]"]
    for key, value in settings:
        command += ["--conf", f"{key}={value}"]
    done = subprocess.run(
        [*command, str(CLASS_DATA), root],
        env=environment,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ClassDataError(
            f"the job that loads the classes failed: {(done.stdout + done.stderr)[-3000:]}",
            hint="Runs work without an archive, and take longer to start. Ask `forerun doctor`.",
        )
