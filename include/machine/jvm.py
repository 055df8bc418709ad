"""The spark-submit options of a driver JVM: class-data archive, compiler, S3A class path.

Set-up leaves its files in one folder, :func:`home_folder` (the S3A jars, the class-data archives,
a local S3 server). :func:`submit_options` turns them into configuration pairs for
``spark-submit --conf``, for ``SparkSubmitOperator(conf=...)`` and for ``SparkSession.builder``.

Nothing here ever holds a secret: S3A takes the keys from the ``AWS_*`` environment variables that
a driver inherits, and so does boto3.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from forerun.include.machine.deployment import (
    JAVA_OPTIONS,
    LOG_LEVEL,
    beside,
    deployment_defaults,
)
from forerun.include.machine.options import environment
from forerun.include.machine.settings import s3_settings
from forerun.planner.errors import ForerunError

LEAST_JAVA = 17
JAVA_TODO = (
    f"Install Java {LEAST_JAVA} or newer (on Debian and Ubuntu: apt-get install "
    "openjdk-17-jre-headless), or point JAVA_HOME to one."
)
HOME_VARIABLE = "FORERUN_HOME"
PLAIN_ARCHIVE = "cds/driver.jsa"
S3A_ARCHIVE = "cds/driver-s3a.jsa"
JAR_FOLDER = "jars/s3a"

# Without logging off, a JVM whose class path does not fit the archive prints a warning to stdout.
_QUIET = ("-Xshare:auto", "-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off")
# Spark calls itself for every branch of a chain: with 1 MB, 1,000 branches of UNION ALL are a
# StackOverflowError, with this 2,000 are planned. Memory that a thread does not use is not taken.
_STACK = "-Xss64m"
# Measured: halves the start of a driver, but nearly doubles the CPU of a query that runs for a
# minute; worth it below some 7 CPU seconds of work on data (docs/guides/operations.md).
# A fifth of the room for compiled code comes with it; a driver that plans a thousand small queries
# fills that, and then throws away and compiles again: 71 ms of CPU a query in place of 62.
_FIRST_COMPILER_ONLY = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m")
# G1, the default, works beside the program for short pauses, which nobody waits for here: without
# it small applications take 5 % less CPU, and Q18 at scale 10 in two threads no more. Asked for in
# this way, any collector that the deployment names is the one that is used, where two that are
# named keep a JVM from starting. Without a named level the second compiler would go, too.
_ONE_THREAD_COLLECTS = "-XX:+NeverActAsServerClassMachine"
_ALL_COMPILERS = "-XX:TieredStopAtLevel=4"
_FEW_THREADS = 2
# Half of what a driver takes beside its executors is compiling methods that a batch job never
# calls often enough to win it back. So methods wait for 5 times (first compiler) and 20 times
# (second one) as many calls as by default. What is called for every row has made so many within
# milliseconds. Loops wait for 5 times as many rounds, some milliseconds, before the second one
# compiles them: most are what Spark generates for a stage, and gone with it, and each is a tenth of
# a second to compile. Measured with the room below: docs/lab/opening.md.
_FEWER_METHODS = (
    "-XX:Tier3InvocationThreshold=1000",
    "-XX:Tier3MinInvocationThreshold=500",
    "-XX:Tier3CompileThreshold=10000",
    "-XX:Tier4InvocationThreshold=100000",
    "-XX:Tier4MinInvocationThreshold=12000",
    "-XX:Tier4CompileThreshold=300000",
    "-XX:Tier4BackEdgeThreshold=200000",
)
# A JVM starts with 1.6 % of the machine's memory, or of its container's, and as classes 21 MB, and
# collects all of it each time before it takes more: a dozen times in a minute. It takes no more
# than the heap that the deployment gave it (-Xmx, spark.driver.memory), which also wins as -Xms.
_ROOM = ("-XX:InitialRAMPercentage=10", "-XX:MetaspaceSize=256m")

_OF_THE_SHELL = frozenset(
    (
        "SPARK_HOME",
        "PYSPARK_SUBMIT_ARGS",
        "SPARK_REMOTE",
        "SPARK_LOCAL_REMOTE",
        "SPARK_CONNECT_MODE_ENABLED",
    )
)


class JavaError(ForerunError):
    """There is no Java, or one that is too old for Spark."""

    code = "java"


class JarsMissingError(ForerunError):
    """The store is on S3 and Spark has no S3 file system on its class path."""

    code = "jars-missing"


@dataclass(frozen=True, slots=True)
class DriverFiles:
    """The files that set-up left for driver JVMs. Each is None where it is not there.

    ``jars`` is the folder of the slim S3A jar set. An archive fits one class path exactly:
    ``archive`` the plain one, ``s3a_archive`` the one with ``jars`` in front.
    """

    jars: Path | None = None
    archive: Path | None = None
    s3a_archive: Path | None = None


def home_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder where set-up keeps what it fetched or made.

    ``FORERUN_HOME`` if set, else ``.forerun`` of the checkout, else (installed without a checkout)
    ``forerun`` in the user's cache folder.
    """
    environ = environment() if environ is None else environ
    if named := environ.get(HOME_VARIABLE):
        return Path(named).expanduser().resolve()
    checkout = Path(__file__).absolute().parents[3]
    if (checkout / "pyproject.toml").is_file():
        return (checkout / ".forerun").resolve()
    cache = environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "forerun"


def driver_files(home: Path | None = None) -> DriverFiles:
    """The files of :class:`DriverFiles` that exist under ``home`` (default: the home folder)."""
    home = home or home_folder()
    jars, plain, s3a = home / JAR_FOLDER, home / PLAIN_ARCHIVE, home / S3A_ARCHIVE
    return DriverFiles(
        jars=jars if any(jars.glob("hadoop-aws-*.jar")) else None,
        archive=plain if plain.is_file() else None,
        s3a_archive=s3a if s3a.is_file() else None,
    )


def submit_options(
    store_uri: str,
    tiny: bool = False,
    *,
    master: str = "local",
    files: DriverFiles | None = None,
    environ: Mapping[str, str] | None = None,
) -> tuple[tuple[str, str], ...]:
    """Configuration pairs for a Spark driver that works on the store at ``store_uri``.

    ``tiny`` is for a run predicted to have next to no data: only the first JIT compiler, which
    starts fast and ends slow. ``master`` is where the application will run: a cluster is sent the
    S3A jars, for its machines need not have them. Lists that the deployment has in its
    ``spark-defaults.conf`` are gone on with. ``files`` and ``environ`` default to this machine's.
    A missing or unfit archive only costs time: the JVM ignores it.

    Raises :class:`JarsMissingError` for an ``s3://`` store without the S3A jars.
    """
    files = driver_files() if files is None else files
    environ = environment() if environ is None else environ
    on_s3 = is_s3(store_uri)
    archive = files.s3a_archive if on_s3 else files.archive
    java = java_options(archive, tiny=tiny, narrow=_is_narrow(master))
    defaults = deployment_defaults(environ, spark_home())
    pairs = [(JAVA_OPTIONS, " ".join(java))]
    if LOG_LEVEL not in defaults:
        pairs.append((LOG_LEVEL, "WARN"))  # else nine of ten lines of a good run are Spark's
    if on_s3:
        if files.jars is None:
            raise JarsMissingError(
                f"Spark cannot reach {store_uri}: the S3A jars are not installed",
                hint="Run `forerun setup --s3`, or set "
                f"{HOME_VARIABLE} to the folder that has them.",
            )
        pairs += s3a_options(files.jars, environ)
        if not is_local(master):
            pairs.append(("spark.jars", f"{files.jars}/*.jar"))
    return beside(pairs, defaults)


def local_name(master: str, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variable by which a driver that is a whole Spark by itself is called localhost:
    else it looks up the machine's own name, and warns at each start that this leads to itself."""
    environ = environment() if environ is None else environ
    named = any(name in environ for name in ("SPARK_LOCAL_IP", _LOCAL_NAME))
    return {_LOCAL_NAME: "localhost"} if is_local(master) and not named else {}


_LOCAL_NAME = "SPARK_LOCAL_HOSTNAME"


def java_executable(environ: Mapping[str, str] | None = None) -> Path | None:
    """The Java that spark-submit will take: of ``JAVA_HOME``, else of ``PATH``; None without."""
    environ = environment() if environ is None else environ
    if home := environ.get("JAVA_HOME"):
        named = Path(home) / "bin" / "java"
        return named if named.is_file() else None
    found = shutil.which("java", path=environ.get("PATH"))
    return Path(found) if found else None


def java_version(java: Path) -> str:
    """Return what ``java -version`` prints (to standard error), or "" if it does not run."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return said.stderr


def java_major(said: str) -> int:
    """The major version in what ``java -version`` says, 0 if there is none."""
    version = re.search(r'version "(\d+)(?:\.(\d+))?', said)
    if version is None:
        return 0
    return int(version[2] or 0) if version[1] == "1" else int(version[1])  # 1.8 is Java 8


def require_java(environ: Mapping[str, str] | None = None) -> None:
    """Raise :class:`JavaError` unless spark-submit will find a Java that Spark runs on."""
    java = java_executable(environ)
    hint = JAVA_TODO
    if java is None:
        raise JavaError("Spark needs Java, and there is none", hint=hint)
    major = java_major(java_version(java))
    if major < LEAST_JAVA:
        found = f"is Java {major}" if major else "does not run"
        raise JavaError(f"Spark needs Java {LEAST_JAVA} or newer, {java} {found}", hint=hint)


def archive_identity(jars: Path | None, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return what a class-data archive must agree with: the Java build and the class path.

    The JVM compares names, sizes and times of the jars; so does this, by their folder's listing.
    """
    java = java_executable(environ)
    folders = [*([jars] if jars else []), spark_home() / "jars"]
    listing = hashlib.sha256()
    for folder in folders:
        for jar in sorted(folder.glob("*.jar")):
            status = jar.stat()
            listing.update(f"{jar}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return {
        "java": java_version(java) if java else "",
        "class_path": listing.hexdigest(),
    }


def identity_file(archive: Path) -> Path:
    """Return the path, beside an archive, where its identity is kept."""
    return archive.with_suffix(".json")


def spark_home() -> Path:
    """Spark's folder in the running environment, found without importing pyspark."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ForerunError(
            "pyspark is not installed", hint="pip install 'forerun[spark]'", code="no-pyspark"
        )
    return Path(spec.origin).resolve().parent


def is_s3(store_uri: str) -> bool:
    """Return whether a URI names an object store that Spark reads through S3A."""
    return urlsplit(store_uri).scheme in {"s3", "s3a"}


def is_local(master: str) -> bool:
    """Return whether a Spark master URL means the driver's own process and no others."""
    return re.fullmatch(r"local(\[.*\])?", master) is not None


def _is_narrow(master: str) -> bool:
    """Return whether a Spark master URL means no more than two threads in the driver's own
    process."""
    threads = re.fullmatch(r"local(?:\[\s*(\d+|\*)\s*(?:,.*)?\])?", master)
    if threads is None:
        return False
    return int(os.cpu_count() or 1 if threads[1] == "*" else threads[1] or 1) <= _FEW_THREADS


def java_options(archive: Path | None, *, tiny: bool, narrow: bool = False) -> list[str]:
    """JVM flags: stacks, room to begin with, the class-data archive, if there is one, how much is
    compiled, and who collects the garbage of a process that has next to no data or no more than two
    threads."""
    shared = [*_QUIET, _quoted(f"-XX:SharedArchiveFile={archive}")] if archive else []
    compiled = [*(_FIRST_COMPILER_ONLY if tiny else _FEWER_METHODS)]
    if narrow and not tiny:
        compiled.append(_ALL_COMPILERS)
    collected = [_ONE_THREAD_COLLECTS] if tiny or narrow else []
    return [_STACK, *_ROOM, *collected, *compiled, *shared]


def s3a_options(jars: Path, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Class path and S3A settings; endpoint and region from the variables that boto3 reads too.

    ``s3://`` URIs go to S3A as well, so that one spelling serves Spark and boto3.
    """
    settings = s3_settings(environ)
    pairs = [
        ("spark.driver.extraClassPath", f"{jars}/*"),
        ("spark.hadoop.fs.s3.impl", "org.apache.hadoop.fs.s3a.S3AFileSystem"),
        # One object per pending commit less to write, list and delete.
        ("spark.hadoop.fs.s3a.committer.magic.track.commits.in.memory.enabled", "true"),
        ("spark.hadoop.fs.s3a.endpoint.region", settings.region),
        ("spark.hadoop.fs.s3a.path.style.access", str(settings.path_style).lower()),
    ]
    if settings.endpoint:
        encrypted = urlsplit(settings.endpoint).scheme != "http"
        pairs += [
            ("spark.hadoop.fs.s3a.endpoint", settings.endpoint),
            ("spark.hadoop.fs.s3a.connection.ssl.enabled", str(encrypted).lower()),
        ]
    return pairs


def spark_submit() -> Path:
    """The spark-submit of the running Python's environment (never another one from PATH)."""
    return Path(sys.prefix) / "bin" / "spark-submit"


def driver_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Environment for spark-submit: this Python for driver and workers, this Spark, no other.

    ``SPARK_HOME`` of the surrounding shell would start another version of Spark, and variables of
    Spark Connect (which a session on Sail sets, too) a session on a server, so they are dropped.
    """
    environ = environment() if environ is None else environ
    bin_folder = str(Path(sys.prefix) / "bin")
    kept = {name: value for name, value in environ.items() if name not in _OF_THE_SHELL}
    path = environ.get("PATH", os.defpath)
    return {
        **kept,
        "PATH": path if path.split(os.pathsep)[0] == bin_folder else f"{bin_folder}:{path}",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def _quoted(flag: str) -> str:
    return f'"{flag}"' if " " in flag else flag
