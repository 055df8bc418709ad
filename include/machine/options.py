"""The options of a deployment: variables, or a section of Airflow's configuration.

A variable of the environment comes first. The section ``[forerun]`` of ``airflow.cfg``, with all
other ways that Airflow has to give an option, holds in processes that have Airflow loaded; it is
handed on to the Spark drivers that they start.
"""

from __future__ import annotations

import os
import sys
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass

SECTION = "forerun"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A setting: its name in the section, its variable, what it is for, and an example."""

    name: str
    variable: str
    about: str
    example: str


STORE = Option(
    name="store",
    variable="FORERUN_STORE",
    about="The state store of reports that name none: a folder, file:// or s3://.",
    example="s3://warehouse/forerun",
)
STORE_ACCESS = Option(
    name="store_access",
    variable="FORERUN_STORE_ACCESS",
    about="Who may read a store in a folder: private, group or umask.",
    example="group",
)
HOME = Option(
    name="home",
    variable="FORERUN_HOME",
    about="The folder of the S3A jars, the class-data archives and the archive of the job.",
    example="/opt/forerun",
)
S3_PATH_STYLE = Option(
    name="s3_path_style",
    variable="FORERUN_S3_PATH_STYLE",
    about="Whether a bucket is a part of the path (true) or of the server's name (false).",
    example="true",
)
S3_TIMEOUT = Option(
    name="s3_timeout",
    variable="FORERUN_S3_TIMEOUT",
    about="Seconds that bound a call to S3 with all its retries.",
    example="60",
)
FUNCTIONS = Option(
    name="allowed_functions",
    variable="FORERUN_ALLOWED_FUNCTIONS",
    about="Functions that reports may call although they are refused or not known to Spark, with "
    "commas between them.",
    example="reflect,my_udf",
)
CPU_HOUR_COST = Option(
    name="cpu_hour_cost",
    variable="FORERUN_CPU_HOUR_COST",
    about="What a CPU hour costs at price 1, with its currency as it is to be shown: the pages and "
    "`forerun savings` then say savings in money, too.",
    example="0.05 EUR",
)
STATE_COST = Option(
    name="state_cost",
    variable="FORERUN_STATE_COST",
    about="What a gigabyte of state costs until clean-up deletes it, in CPU seconds at the price "
    "of the run that writes it: plans then keep what is worth that. 0 by default.",
    example="480",
)
INTERRUPTIONS = Option(
    name="interruptions",
    variable="FORERUN_INTERRUPTIONS",
    about="How often an application is ended from outside per hour that it runs, as on spot "
    "machines: long runs then have checkpoints. What the ledger has seen counts if it is more.",
    example="0.05",
)
AWS_CONN_ID = Option(
    name="aws_conn_id",
    variable="FORERUN_AWS_CONN_ID",
    about="The Airflow connection (type aws) by which S3 is reached: endpoint, region and keys.",
    example="aws_default",
)
OPTIONS = (
    STORE, STORE_ACCESS, HOME, S3_PATH_STYLE, S3_TIMEOUT, FUNCTIONS, CPU_HOUR_COST, STATE_COST,
    INTERRUPTIONS, AWS_CONN_ID,
)  # fmt: skip


def environment() -> Mapping[str, str]:
    """Return the variables of this process; those of :data:`OPTIONS` that it lacks are what the
    section says."""
    return ChainMap(said_in_section(), os.environ)


def said_in_section() -> dict[str, str]:
    """Return the options that only Airflow's configuration gives, by their variables; nothing where
    Airflow is not loaded."""
    module = sys.modules.get("airflow.configuration")
    conf = getattr(module, "conf", None)  # not yet there while Airflow is being loaded
    if conf is None:
        return {}
    said = {
        one.variable: str(conf.get(SECTION, one.name, fallback=None) or "")
        for one in OPTIONS
        if not os.environ.get(one.variable)
    }
    return {variable: value for variable, value in said.items() if value}
