"""Settings as frozen values, from the environment, or from Airflow's configuration
(:mod:`forerun.include.machine.options`)."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from forerun.include.machine import options
from forerun.include.machine.aws_connection import aws_connection
from forerun.planner.algebra.spark_functions import ALWAYS_REFUSED
from forerun.planner.errors import ALLOWED_FUNCTIONS, ForerunError


class SettingsError(ForerunError):
    """An environment variable has a value that cannot be used."""

    code = "settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Settings:
    """The settings that reach S3. Credentials are not here: boto3's and S3A's own chains find them.

    ``endpoint`` is empty for Amazon. ``timeout`` seconds bound a call with all its retries.
    """

    endpoint: str = ""
    region: str = "us-east-1"
    path_style: bool = False
    timeout: float = 60.0


def store_access(environment: Mapping[str, str] | None = None) -> str:
    """Return who may read a store in a folder, from ``FORERUN_STORE_ACCESS``: ``private`` (the
    default: this user alone), ``group`` (also the group of its folders) or ``umask`` (as the
    process makes its other files)."""
    env = options.environment() if environment is None else environment
    access = env.get("FORERUN_STORE_ACCESS", "private")
    if access not in ("private", "group", "umask"):
        raise SettingsError(
            f"FORERUN_STORE_ACCESS is {access!r}", hint="Use private, group or umask."
        )
    return access


def s3_settings(environment: Mapping[str, str] | None = None) -> S3Settings:
    """Read ``AWS_ENDPOINT_URL_S3`` or ``AWS_ENDPOINT_URL``, ``AWS_REGION`` or
    ``AWS_DEFAULT_REGION``, ``FORERUN_S3_PATH_STYLE`` and ``FORERUN_S3_TIMEOUT`` (seconds).

    With an endpoint of one's own, path style is the default: such servers rarely have a wildcard
    name per bucket. A connection of Airflow for S3 comes before all of them.
    """
    if environment is None:
        found = aws_connection()
        said = dict(options.environment())
        env: Mapping[str, str] = ChainMap(found.variables if found else {}, said)
    else:
        env = environment
    endpoint = env.get("AWS_ENDPOINT_URL_S3") or env.get("AWS_ENDPOINT_URL") or ""
    if "@" in urlsplit(endpoint).netloc:
        raise SettingsError(
            "AWS_ENDPOINT_URL holds credentials",
            hint="Leave them out, for it is a part of command lines; set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY.",
        )
    style = env.get("FORERUN_S3_PATH_STYLE", "true" if endpoint else "false").lower()
    if style not in ("true", "false"):
        raise SettingsError(f"FORERUN_S3_PATH_STYLE is {style!r}", hint="Use true or false.")
    timeout = env.get("FORERUN_S3_TIMEOUT", "60")
    try:
        seconds = float(timeout)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 3600:
        raise SettingsError(
            f"FORERUN_S3_TIMEOUT is {timeout!r}", hint="Use seconds, more than 0, below 3600."
        )
    return S3Settings(
        endpoint=endpoint,
        region=env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or "us-east-1",
        path_style=style == "true",
        timeout=seconds,
    )


@dataclass(frozen=True, slots=True)
class CpuHourCost:
    """The cost of a CPU hour at price 1: ``amount``, with what stands before and after it."""

    before: str
    amount: float
    after: str

    def text(self, weighted_cpu_s: float) -> str:
        """Return what CPU seconds times prices cost, to the cent, or to two figures below one."""
        cost = weighted_cpu_s / 3600 * self.amount
        figure = f"{cost:,.2f}" if abs(cost) >= 1 or not cost else f"{cost:.2g}"
        return f"{self.before}{figure}{self.after}"


def cpu_hour_cost(environment: Mapping[str, str] | None = None) -> CpuHourCost | None:
    """Read ``FORERUN_CPU_HOUR_COST``, such as ``0.05 EUR`` or ``$0.04``; None if it is not set."""
    env = options.environment() if environment is None else environment
    said = env.get(options.CPU_HOUR_COST.variable, "").strip()
    if not said:
        return None
    found = re.fullmatch(r"([^\d.,-]*)(\d+(?:\.\d+)?)(\D*)", said)
    if found is None or not float(found[2]):
        raise SettingsError(
            f"{options.CPU_HOUR_COST.variable} is {said!r}",
            hint="Give a figure above 0 and a currency, such as 0.05 EUR or $0.04.",
        )
    return CpuHourCost(found[1], float(found[2]), found[3])


def state_cost(environment: Mapping[str, str] | None = None) -> float:
    """Return the CPU seconds that a gigabyte of state costs until it is deleted, from
    ``FORERUN_STATE_COST``."""
    return _figure(options.STATE_COST, "CPU seconds for a gigabyte", environment)


def interruptions_an_hour(environment: Mapping[str, str] | None = None) -> float:
    """Return how often an application is said to be ended from outside per hour that it runs, from
    ``FORERUN_INTERRUPTIONS``."""
    return _figure(options.INTERRUPTIONS, "how often in an hour", environment)


def _figure(option: options.Option, what: str, environment: Mapping[str, str] | None) -> float:
    """Return the figure that an option has, 0 without it."""
    env = options.environment() if environment is None else environment
    said = env.get(option.variable, "").strip() or "0"
    if not re.fullmatch(r"\d{1,9}(\.\d+)?", said):
        raise SettingsError(
            f"{option.variable} is {said!r}",
            hint=f"Give {what}, 0 or more, such as {option.example}.",
        )
    return float(said)


def allowed_functions(environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The functions that the deployment allows to its reports although they are refused by default
    or not known, from ``FORERUN_ALLOWED_FUNCTIONS`` (names with commas between them)."""
    env = options.environment() if environment is None else environment
    names = [name.strip().lower() for name in env.get(ALLOWED_FUNCTIONS, "").split(",")]
    if wrong := [name for name in names if name and not re.fullmatch(r"[a-z_][a-z0-9_]*", name)]:
        raise SettingsError(
            f"{ALLOWED_FUNCTIONS} names {wrong[0]!r}",
            hint="Give the names of functions with commas between them, such as reflect,my_udf.",
        )
    return tuple(sorted({name for name in names if name}))


def forbidden_functions(environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The functions that a session of Spark is to lose before it runs a report: whatever text it
    comes to run, it cannot call them."""
    return tuple(sorted(ALWAYS_REFUSED - set(allowed_functions(environment))))
