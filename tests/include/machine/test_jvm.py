"""Driver options: what spark-submit gets, and that a real JVM maps the archive."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from forerun.include.machine import jvm
from forerun.include.machine.jvm import DriverFiles, JarsMissingError, submit_options

FILES = DriverFiles(jars=Path("/x/jars"), archive=Path("/x/a.jsa"), s3a_archive=Path("/x/s.jsa"))
BARE = DriverFiles()


def test_a_local_store_needs_nothing_but_the_archive():
    pairs = dict(submit_options("file:///data", files=FILES, environ={}))
    assert list(pairs) == ["spark.driver.defaultJavaOptions", "spark.log.level"]
    assert "-XX:SharedArchiveFile=/x/a.jsa" in pairs["spark.driver.defaultJavaOptions"]


def test_without_an_archive_threads_still_get_room_for_long_queries():
    pair, _ = submit_options("/data", files=BARE, environ={})
    assert pair[1].startswith("-Xss64m ")


def test_methods_and_loops_wait_longer_to_be_compiled():
    pair, _ = submit_options("/data", files=BARE, environ={})
    thresholds = dict(re.findall(r"-XX:(Tier\d\w+)=(\d+)", pair[1]))
    by_default = {name: int(value) for name, value in _jvm_says(*thresholds).items()}
    assert thresholds
    assert all(int(value) > by_default[name] for name, value in thresholds.items())
    assert {name for name in thresholds if "BackEdge" in name} == {"Tier4BackEdgeThreshold"}


def test_a_jvm_starts_with_room_that_the_deployment_s_heap_bounds():
    (_, flags), *_ = submit_options("/data", files=BARE, environ={})
    room = [flag for flag in flags.split() if "RAM" in flag or "Metaspace" in flag]
    said = {
        heap: _jvm_says("InitialHeapSize", "MaxHeapSize", flags=[*room, *heap.split()])
        for heap in ("-Xmx48m", "-Xmx8g", "-Xmx8g -Xms96m")
    }
    assert said["-Xmx48m"]["InitialHeapSize"] == said["-Xmx48m"]["MaxHeapSize"]
    usual = int(_jvm_says("InitialHeapSize", flags=["-Xmx8g"])["InitialHeapSize"])
    assert 2 * usual < int(said["-Xmx8g"]["InitialHeapSize"]) <= 8 << 30
    assert int(said["-Xmx8g -Xms96m"]["InitialHeapSize"]) == 96 << 20


def test_tiny_runs_use_the_first_compiler_only():
    pair, _ = submit_options("/data", tiny=True, files=BARE, environ={})
    flags = (
        "-Xss64m -XX:InitialRAMPercentage=10 -XX:MetaspaceSize=256m "
        "-XX:+NeverActAsServerClassMachine -XX:TieredStopAtLevel=1 "
        "-XX:ReservedCodeCacheSize=240m"
    )
    assert pair == ("spark.driver.defaultJavaOptions", flags)


@pytest.mark.parametrize(
    ("master", "tiny", "serial"),
    [
        ("local", False, True),
        ("local[2]", False, True),
        ("local[2,3]", False, True),
        ("local[3]", False, False),
        ("local[64]", False, False),
        ("spark://host:7077", False, False),
        ("yarn", False, False),
        ("yarn", True, True),
    ],
)
def test_one_thread_collects_what_two_threads_leave(master: str, tiny: bool, serial: bool):
    (_, flags), _ = submit_options("/data", tiny, master=master, files=BARE, environ={})
    assert ("-XX:+NeverActAsServerClassMachine" in flags) == serial


@pytest.mark.parametrize(("cores", "serial"), [(2, True), (3, False)])
def test_as_many_threads_as_cores_are_counted(monkeypatch, cores: int, serial: bool):
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    (_, flags), _ = submit_options("/data", master="local[*]", files=BARE, environ={})
    assert ("-XX:+NeverActAsServerClassMachine" in flags) == serial


@pytest.mark.parametrize(
    ("named", "collector"), [("", "UseSerialGC"), ("-XX:+UseParallelGC", "UseParallelGC")]
)
def test_a_collector_that_the_deployment_names_is_the_one(named: str, collector: str):
    """And the second compiler stays, though it is not for a machine that is no server."""
    (_, flags), _ = submit_options("/data", files=BARE, environ={})
    java = jvm.java_executable()
    assert java is not None
    said = subprocess.run(
        [java, *flags.split(), *named.split(), "-XX:+PrintFlagsFinal", "-version"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert re.findall(r"(Use(?:Serial|Parallel|G1)GC)\s+= true", said) == [collector]
    assert re.findall(r"CompilationMode\s+= (\w+)", said) == ["default"]


def _jvm_says(*names: str, flags: Sequence[str] = ()) -> dict[str, str]:
    """The values of flags as this machine's JVM has them by default, or if it is started so."""
    java = jvm.java_executable()
    assert java is not None
    said = subprocess.run(
        [java, *flags, "-XX:+PrintFlagsFinal", "-version"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    values = dict(re.findall(r"(\w+)\s+=\s+(\d+)", said))
    return {name: values[name] for name in names}


def test_a_path_with_a_blank_stays_one_option():
    files = DriverFiles(archive=Path("/a b/c.jsa"))
    pair, _ = submit_options("/data", files=files, environ={})
    assert pair[1].endswith('"-XX:SharedArchiveFile=/a b/c.jsa"')


def test_s3_takes_its_own_archive_class_path_and_endpoint():
    environ = {
        "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9",
        "AWS_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "the-key-id",
        "AWS_SECRET_ACCESS_KEY": "the-secret",
    }
    pairs = submit_options("s3://bucket/x", files=FILES, environ=environ)
    conf = dict(pairs)
    assert "/x/s.jsa" in conf["spark.driver.defaultJavaOptions"]
    assert conf["spark.driver.extraClassPath"] == "/x/jars/*"
    assert conf["spark.hadoop.fs.s3a.endpoint"] == "http://127.0.0.1:9"
    assert conf["spark.hadoop.fs.s3a.path.style.access"] == "true"
    assert conf["spark.hadoop.fs.s3a.connection.ssl.enabled"] == "false"
    assert conf["spark.hadoop.fs.s3a.endpoint.region"] == "eu-west-1"
    assert "the-" not in str(pairs), "keys go through the environment, never through options"


def test_amazon_keeps_its_own_endpoint():
    conf = dict(submit_options("s3://bucket/x", files=FILES, environ={}))
    assert "spark.hadoop.fs.s3a.endpoint" not in conf
    assert conf["spark.hadoop.fs.s3a.path.style.access"] == "false"


def test_s3_without_jars_says_what_to_do():
    with pytest.raises(JarsMissingError) as error:
        submit_options("s3://bucket/x", files=BARE, environ={})
    assert "forerun setup --s3" in str(error.value)


def test_the_home_folder_is_named_by_the_environment(tmp_path):
    assert jvm.home_folder({"FORERUN_HOME": str(tmp_path)}) == tmp_path


def test_a_broken_set_up_leaves_nothing(tmp_path):
    (tmp_path / "jars/s3a").mkdir(parents=True)
    (tmp_path / "cds").mkdir()
    assert jvm.driver_files(tmp_path) == DriverFiles()


def test_another_spark_of_the_shell_is_not_used():
    shell = {
        "SPARK_HOME": "/opt/spark",
        "SPARK_REMOTE": "sc://h",
        "SPARK_CONNECT_MODE_ENABLED": "1",
    }
    found = jvm.driver_environment({**shell, "PATH": "/usr/bin", "X": "1"})
    assert not shell.keys() & found.keys()
    assert found["PATH"].endswith(":/usr/bin")
    assert found["X"] == "1"


def test_java_home_comes_before_the_path(tmp_path):
    assert jvm.java_executable({"JAVA_HOME": str(tmp_path), "PATH": os.defpath}) is None


@pytest.mark.spark
@pytest.mark.parametrize("uri", ["file:///x", "s3://b/x"])
def test_a_jvm_maps_the_archive(uri):
    files = jvm.driver_files()
    on_s3 = jvm.is_s3(uri)
    if (files.s3a_archive if on_s3 else files.archive) is None:
        pytest.skip("no class-data archive here: `make cds`, `make jars`")
    conf = dict(submit_options(uri))
    conf["spark.driver.defaultJavaOptions"] += " -Xlog:class+load"
    command = [str(jvm.spark_submit())]
    for key, value in conf.items():
        command += ["--conf", f"{key}={value}"]
    done = subprocess.run(
        [*command, "--version"],
        env=jvm.driver_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    # Classes of Spark come from the dynamic ("top") layer of the archive; without it, from jars.
    assert done.stdout.count("shared objects file (top)") > 500


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ('openjdk version "11.0.2" 2019-01-15', "is Java 11"),
        ('java version "1.8.0_292"', "is Java 8"),
        ("Segmentation fault", "does not run"),
    ],
)
def test_a_java_that_spark_does_not_run_on_is_refused(tmp_path, said, words):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    java.chmod(0o755)
    with pytest.raises(jvm.JavaError, match=words) as caught:
        jvm.require_java({"JAVA_HOME": str(tmp_path)})
    assert "Install Java 17" in caught.value.hint


def test_no_java_at_all_is_an_error_of_its_own(tmp_path):
    with pytest.raises(jvm.JavaError, match="there is none"):
        jvm.require_java({"PATH": str(tmp_path)})


def test_this_machines_java_will_do():
    if jvm.java_executable() is not None:
        jvm.require_java()


def test_a_whole_spark_in_one_process_is_called_localhost_unless_somebody_says_otherwise():
    assert jvm.local_name("local[2]", {}) == {"SPARK_LOCAL_HOSTNAME": "localhost"}
    assert jvm.local_name("spark://host:7077", {}) == {}
    assert jvm.local_name("local[2]", {"SPARK_LOCAL_IP": "10.0.0.7"}) == {}
    assert jvm.local_name("local", {"SPARK_LOCAL_HOSTNAME": "host"}) == {}


def test_spark_says_warnings_only_unless_the_deployment_says_otherwise(tmp_path: Path) -> None:
    assert dict(submit_options("/data", files=BARE, environ={}))["spark.log.level"] == "WARN"
    (tmp_path / "spark-defaults.conf").write_text("spark.log.level INFO\n")
    given = dict(submit_options("/data", files=BARE, environ={"SPARK_CONF_DIR": str(tmp_path)}))
    assert given.get("spark.log.level", "INFO") == "INFO"
