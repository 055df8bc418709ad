"""The jars that Spark needs to work on S3, fetched by Maven: 36 of them, 13 MB.

The whole AWS SDK would be 616 MB. ``s3a-jars.xml`` beside this file says which.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path

from forerun.include.machine.jvm import JAR_FOLDER, home_folder
from forerun.planner.errors import ForerunError

_POM = Path(__file__).absolute().with_name("s3a-jars.xml")
_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:2.8:copy-dependencies"
_OF_SPARK = (
    "netty-*",
    "slf4j-api-*",
    "commons-codec-*",
    "commons-logging-*",
    "httpclient-4*",
    "httpcore-4*",
)
"""Spark has newer ones of these; two versions on one class path end in NoSuchMethodError."""
_NOT_OF_SPARK = "netty-nio-client-*"


class JarsError(ForerunError):
    """The S3A jars cannot be fetched."""

    code = "jars"


def fetch_jars(say: Callable[[str], None]) -> Path:
    """Return the folder of the jars in Forerun's home, after fetching those of this version unless
    they are there; it appears whole or not at all. ``say`` is told what takes long.

    Raises :class:`JarsError` without Maven, or with its own words where it fails.
    """
    target = home_folder() / JAR_FOLDER
    wanted = _POM.read_bytes() + repr((_GOAL, _OF_SPARK, _NOT_OF_SPARK)).encode()
    mark = f"{hashlib.sha256(wanted).hexdigest()[:16]}.complete"
    if (target / mark).exists():
        return target
    maven = shutil.which("mvn")
    if maven is None:
        raise JarsError(
            "Maven is not installed, which fetches the S3A jars",
            hint="Install it (on Debian and Ubuntu: apt-get install maven), or copy the jars that "
            f"{_POM} lists into {target}.",
        )
    say(f"the S3A jars, by Maven, into {target} ...")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="fetching.") as scratch:
        fresh = Path(scratch) / "jars"
        _copy_dependencies(maven, fresh)
        for jar in fresh.iterdir():
            of_spark = any(fnmatch(jar.name, pattern) for pattern in _OF_SPARK)
            if of_spark and not fnmatch(jar.name, _NOT_OF_SPARK):
                jar.unlink()
        (fresh / mark).touch()
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)
    return target


def _copy_dependencies(maven: str, folder: Path) -> None:
    command = [maven, "--batch-mode", "--quiet", "--file", str(_POM), _GOAL]
    done = subprocess.run(
        [*command, f"-DoutputDirectory={folder}", "-DincludeScope=runtime"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise JarsError(
            f"Maven cannot fetch the S3A jars: {(done.stdout + done.stderr)[-2000:]}",
            hint="It takes its mirror and proxy from ~/.m2/settings.xml.",
        )
