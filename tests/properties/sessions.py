"""Sessions of the engines, one per test process."""

from __future__ import annotations

from functools import cache
from typing import Any

from forerun.include.machine.jvm import submit_options
from forerun.spark_jobs.engine import SESSION_REQUIRED

SESSION = {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "UTC"}


@cache
def _sail_server() -> Any:
    """A Sail server in this process; it ends with it. It keeps some 50 to 150 KB of each query that
    neither a new session nor a new server gives back: gigabytes after all generated days."""
    from forerun.spark_jobs.engines.sail import start_server

    return start_server()


@cache
def sail_session() -> Any:
    from grpc.experimental import ChannelOptions
    from pyspark.sql.connect.client.core import DefaultChannelBuilder
    from pyspark.sql.connect.session import SparkSession

    _, port = _sail_server().listening_address
    channel = DefaultChannelBuilder(f"sc://127.0.0.1:{port}")
    # Otherwise each query starts a thread that waits for its answer: a third of a small query
    # where the cores are busy.
    channel.setChannelOption(ChannelOptions.SingleThreadedUnaryStream, 1)
    session = SparkSession.builder.channelBuilder(channel).create()
    session.client.disable_reattachable_execute()  # Sail may lose what it is asked to go on with
    for name, value in SESSION.items():
        session.conf.set(name, value)
    return session


@cache
def spark_session() -> Any:
    """Spark itself, tuned for queries over a dozen rows: one partition, no compiled stages, and
    a JVM that neither compiles twice nor collects garbage beside its work."""
    from pyspark.sql import SparkSession

    (java, flags), *_ = submit_options("", tiny=True)

    builder = SparkSession.builder.master("local[2]").appName("differential")
    options = {
        **SESSION,
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.catalogImplementation": "in-memory",
        **dict(SESSION_REQUIRED),
        "spark.driver.memory": "1g",
        java: flags,
        "spark.sql.autoBroadcastJoinThreshold": "-1",
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
