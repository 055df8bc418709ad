"""Settings of the deployment that Forerun's own come beside."""

from __future__ import annotations

from pathlib import Path

import pytest

from forerun.include.machine.deployment import DeploymentError, beside, deployment_defaults
from forerun.include.machine.jvm import DriverFiles, submit_options

FILE = r"""
# a comment
! another one
spark.master            spark://host:7077
spark.eventLog.dir=hdfs\://name/logs
spark.driver.extraJavaOptions : -Dhttp.proxyHost=proxy -Da=b\
    -Dc=d
spark.jars /a/one.jar,/a/two.jar
  spark.empty
spark.path C:\\x
"""


def test_the_file_is_read_as_spark_reads_it(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(FILE)
    wanted = {
        "spark.master": "spark://host:7077",
        "spark.eventLog.dir": "hdfs://name/logs",
        "spark.driver.extraJavaOptions": "-Dhttp.proxyHost=proxy -Da=b-Dc=d",
        "spark.jars": "/a/one.jar,/a/two.jar",
        "spark.empty": "",
        "spark.path": "C:\\x",
    }
    assert deployment_defaults({}, tmp_path) == wanted
    named = {"SPARK_CONF_DIR": str(tmp_path / "conf")}
    assert deployment_defaults(named, Path("/nowhere")) == wanted
    assert deployment_defaults({"SPARK_CONF_DIR": str(tmp_path)}, tmp_path) == {}


def test_lists_are_joined_and_nothing_else_is_touched() -> None:
    own = [("spark.jars", "/own.jar"), ("spark.driver.extraClassPath", "/own/*"), ("spark.x", "1")]
    there = {"spark.jars": "/theirs.jar", "spark.x": "2", "spark.y": "3"}
    assert beside(own, there) == (
        ("spark.jars", "/own.jar,/theirs.jar"),
        ("spark.driver.extraClassPath", "/own/*"),
        ("spark.x", "1"),
    )


def test_submit_options_keep_what_the_deployment_says(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.jars /theirs.jar\n")
    environ = {"SPARK_CONF_DIR": str(tmp_path)}
    files = DriverFiles(jars=Path("/jars"), s3a_archive=Path("/s.jsa"))
    cluster, local = (
        dict(submit_options("s3://b/x", files=files, environ=environ, master=master))
        for master in ("spark://host:7077", "local[2]")
    )
    for options in (cluster, local):
        assert options["spark.driver.defaultJavaOptions"].endswith("/s.jsa")
        assert "spark.driver.extraJavaOptions" not in options, "the deployment's, and not logged"
    assert cluster["spark.jars"] == "/jars/*.jar,/theirs.jar"
    assert "spark.jars" not in local, "one process has them on its class path"


def test_default_java_options_of_the_deployment_take_the_place_of_ours(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.driver.defaultJavaOptions -Da=hidden\n")
    files = DriverFiles(archive=Path("/a.jsa"))
    environ = {"SPARK_CONF_DIR": str(tmp_path)}
    assert submit_options("/data", files=files, environ=environ) == (("spark.log.level", "WARN"),)


@pytest.mark.parametrize("jar", ["https://hidden@host/x.jar", "https://host/x.jar?sig=hidden"])
def test_no_secret_of_the_deployment_comes_onto_a_command_line(jar: str) -> None:
    with pytest.raises(DeploymentError, match=r"spark\.jars") as caught:
        beside([("spark.jars", "/own.jar")], {"spark.jars": f"/a.jar,{jar}"})
    assert "hidden" not in str(caught.value)
