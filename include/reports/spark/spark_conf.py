"""The Spark settings that a report may bring along, by what their values may be.

They become a part of a command line, and Airflow logs command lines. A list of names that look
secret would miss the next spelling, so this is the opposite: a table of settings whose values are
numbers, switches, words of a known set, or names of things of the cluster. Nothing that is said in
one of these can be a password, a key, an environment variable or a Java option. Whatever is not in
the table is for the deployment to set, in ``spark-defaults.conf``, which is not logged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from forerun.include.reports.spark.session import FIXED
from forerun.include.reports.values.fields import SpecError
from forerun.planner.request import ANSI, TIME_ZONE

_AMOUNT = re.compile(r"-?\d{1,18}(\.\d{1,6})?|true|false|infinity")
_SIZE = re.compile(r"-?\d{1,18}([kmgtp]b?|b)?", re.IGNORECASE)
_TIME = re.compile(r"-?\d{1,18}(us|ms|s|m|min|h|d)?")
_QUANTITY = re.compile(r"\d{1,18}(\.\d{1,6})?(m|[kMGTP]i?)?")  # as Kubernetes writes them
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_PATH = re.compile(r"(/[a-z0-9._-]{1,62}){1,8}")
_KEY_OF = re.compile(r"[A-Za-z0-9._-]{1,62}:[A-Za-z0-9._-]{1,62}")
_IMAGE = re.compile(
    r"([a-z0-9-]{1,62}(\.[a-z0-9-]{1,62}){0,8}(:\d{1,5})?/)?([a-z0-9._-]{1,62}/){0,4}"
    r"[a-z0-9._-]{1,62}"
    r"(:[A-Za-z0-9._-]{1,62})?(@sha256:[0-9a-f]{64})?"
)
_TUNED = (_AMOUNT, _SIZE, _TIME)


@dataclass(frozen=True, slots=True)
class Setting:
    """Settings that a report may choose: a pattern of whole names, patterns of whole values, and in
    words what the values are."""

    name: re.Pattern[str]
    values: tuple[re.Pattern[str], ...]
    said: str


def _setting(name: str, values: tuple[re.Pattern[str], ...], said: str) -> Setting:
    return Setting(re.compile(name), values, said)


def _words(*words: str) -> tuple[re.Pattern[str], ...]:
    return (re.compile("|".join(words), re.IGNORECASE),)


# The first pattern that a name fits counts.
SETTINGS = (
    _setting(
        r"spark\.io\.compression\.codec|spark\.sql\.parquet\.compression\.codec",
        _words("none", "uncompressed", "snappy", "gzip", "lz4", "lz4raw", "lz4_raw", "lzf", "zstd"),
        "the name of a codec",
    ),
    _setting(
        r"spark\.(driver|executor)\.(cores|instances|memory|memoryOverhead|memoryOverheadFactor"
        r"|maxResultSize|minMemoryOverhead|resource\.(gpu|fpga)\.amount)"
        r"|spark\.executor\.(pyspark\.memory|heartbeatInterval)"
        r"|spark\.(cores\.max|default\.parallelism|network\.timeout|rdd\.compress|speculation)"
        r"|spark\.task\.(cpus|maxFailures|resource\.(gpu|fpga)\.amount)"
        r"|spark\.yarn\.am\.(cores|memory|memoryOverhead)"
        r"|spark\.(dynamicAllocation|excludeOnFailure|locality|memory|reducer|shuffle|speculation"
        r"|stage|storage|decommission|broadcast)\.[A-Za-z.]{1,80}",
        _TUNED,
        "a number, a size, a time, true or false",
    ),
    _setting(
        r"spark\.sql\.(adaptive|autoBroadcastJoinThreshold|broadcastTimeout|cbo|codegen|execution"
        r"|files|inMemoryColumnarStorage|join|objectHashAggregate|optimizer|parquet|shuffle"
        r"|sources|statistics|window)(\.[A-Za-z.]{1,100})?",
        _TUNED,
        "a number, a size, a time, true or false",
    ),
    _setting(
        r"spark\.hadoop\.fs\.s3a\.(attempts\.maximum|block\.size|connection\.(maximum|timeout"
        r"|establish\.timeout|request\.timeout|ttl)|fast\.upload\.active\.blocks|max\.total\.tasks"
        r"|multipart\.(size|threshold)|readahead\.range|retry\.(limit|interval|throttle\.limit"
        r"|throttle\.interval)|threads\.max|threads\.keepalivetime)",
        _TUNED,
        "a number, a size or a time",
    ),
    _setting(r"spark\.scheduler\.mode", _words("fifo", "fair"), "FIFO or FAIR"),
    _setting(
        r"spark\.scheduler\.(minRegisteredResourcesRatio|maxRegisteredResourcesWaitingTime)",
        _TUNED,
        "a number or a time",
    ),
    _setting(
        r"spark\.kubernetes\.(driver|executor)\.(request|limit)\.cores",
        (_QUANTITY,),
        "a quantity of cores, such as 500m",
    ),
    _setting(r"spark\.kubernetes\.((driver|executor)\.)?container\.image", (_IMAGE,), "an image"),
    _setting(
        r"spark\.(yarn\.queue|kubernetes\.namespace|scheduler\.pool"
        r"|kubernetes\.((driver|executor)\.)?(node\.selector|label)\.[A-Za-z0-9._/-]{1,80}"
        r"|kubernetes\.authenticate\.(driver\.|executor\.)?serviceAccountName)",
        (_NAME,),
        "a name",
    ),
    # Which of the cluster's secrets a pod is given, and where: the secret itself stays there.
    _setting(
        r"spark\.kubernetes\.(driver|executor)\.secrets\.[A-Za-z0-9.-]{1,80}", (_PATH,), "a path"
    ),
    _setting(
        r"spark\.kubernetes\.(driver|executor)\.secretKeyRef\.[A-Za-z0-9_]{1,80}",
        (_KEY_OF,),
        "the name of a secret and a key in it, such as store:token",
    ),
)


def check_spark_conf(conf: Mapping[str, object]) -> dict[str, str]:
    """Return ``conf`` if every setting is one that a report may choose, with a value that may be
    logged; else raise :class:`SpecError`, which never holds a value."""
    taken: dict[str, str] = {}
    for name, value in conf.items():
        if name in FIXED or name in (ANSI, TIME_ZONE):
            raise SpecError(
                f"spark_conf has {name}, on which the meaning of SQL depends",
                hint="Leave it out: time zone and ANSI mode are fields of the report, "
                "session=Session(time_zone=..., ansi=...), and the others are fixed "
                "(docs/guides/operations.md).",
            )
        setting = next((s for s in SETTINGS if s.name.fullmatch(name)), None)
        if setting is None:
            raise SpecError(
                f"spark_conf has {name}, which would be a part of a command line that is logged, "
                "and is not known to be free of secrets",
                hint="Set it for the deployment, in the spark-defaults.conf of SPARK_CONF_DIR "
                "(docs/guides/operations.md). A report may set sizes, counts, times, queues "
                "and images.",
            )
        if not isinstance(value, str) or not any(v.fullmatch(value) for v in setting.values):
            raise SpecError(
                f"spark_conf: the value of {name} is not {setting.said}",
                hint="Correct it; values that may be anything are for spark-defaults.conf.",
            )
        taken[name] = value
    return taken
