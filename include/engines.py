"""The engines that run plans: one entry each, read wherever an engine is chosen or told apart.

An engine is one module of ``spark_jobs`` with a class for the protocol
:class:`forerun.spark_jobs.engine.Engine`, and one entry here. The command line, the Airflow
operators, the simulation and the job know engines by this table alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from forerun.include.verify.sail_exact import why_not_exact
from forerun.include.verify.sail_gaps import SAIL_GAPS, EngineGap
from forerun.planner.algebra.relational import Relation
from forerun.planner.cost.prices import SPARK, Prices
from forerun.planner.errors import ForerunError
from forerun.planner.request import Source


class UnknownEngineError(ForerunError):
    """Somebody asks for an engine that is not in the table."""

    code = "engine"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """The facts about an engine that are known without starting it.

    ``start``: ``module:function`` in ``spark_jobs``, called with the keywords ``master`` (a Spark
    master or None) and ``name`` (of the application); imported only by a process that runs a plan.
    ``submitted``: a simulated run is an application of its own, through spark-submit; otherwise all
    runs share one engine in the process that simulates. ``prices``: what work costs there,
    and what starting it does. ``gaps``: the constructs whose results differ
    from Spark's in silence. ``why_not_exact``: says of a query over sources why its result may be
    another one than Spark's; None: it never is. ``package``: what has to be installed.
    ``apart``: the prices of a run in a process of its own, for an engine that otherwise has one
    session for all. ``endpoint``: a run is a client of a server that is there already; a connection
    says where, and nobody learns what executors used there, so that CPU is not measured.
    """

    name: str
    about: str
    start: str
    submitted: bool
    prices: Prices = SPARK
    apart: Prices = SPARK
    gaps: tuple[EngineGap, ...] = ()
    why_not_exact: Callable[[Relation, Iterable[Source]], Iterator[str]] | None = None
    package: str = "pyspark"
    endpoint: bool = False


_WORK = 0.2
"""What Sail takes for work of Spark's: 0.16 to 0.27 for batch of TPC-H's queries 1, 3, 13 and 18 at
scale 10."""

SAIL = replace(
    SPARK.times(_WORK),
    run_start=50_000.0,
    stage_start=120_000.0,
    join_start=10_000.0,
    task=0.0,
    file_write=0.0,
    file_read=0.0,
    block=0.0,
    member_start=50_000.0,
    warm=1.0,
    buckets=False,
    plans_by_files=False,
    own_batch=False,
    broadcast_bytes=float(128 << 20),
    hashes_first=True,
    flaws=frozenset({"copies", "casts", "fields", "frequencies", "quotients", "types"}),
)
"""All runs are in one session that is there already, and what a small day costs more than batch are
its stages: at scale 0.1, 0.05 to 0.2 CPU seconds each. Kept rows are plain Parquet to it. It orders
joins by itself, and stages of our own keep it from that: own batch of TPC-H at scale 1 takes 0.56
to 1.07 times the text for Q3, Q4, Q18 and Q20, but 1.3 and 1.9 for Q5 and 2.9 and 5.2 for Q9.
Nothing is sent anywhere, so a side may be large before moving the other one is thought of. Of a
side that is grouped it knows no size, and hashes the first one: 15 million orders joined with 0.3
million such rows took 3.9 CPU seconds with the orders first, and 0.8 with the others first."""

_SAIL_PROCESS = 1_300_000.0
"""The price of a process that starts a server, and ends it."""

_CLIENT = 900_000.0
"""The price of a run that starts no application. This and ``_SERVER_WARM``: a run of three tiny
stages took 2.5 CPU seconds of client and server (docs/lab/benchmarks.md)."""

_SERVER_WARM = 0.4
"""What starts cost on a server that others use, as a part of what they cost in an application of
their own."""

ENDPOINT = replace(
    SPARK,
    run_start=_CLIENT,
    member_start=_CLIENT,
    stage_start=_SERVER_WARM * SPARK.stage_start,
    join_start=_SERVER_WARM * SPARK.join_start,
    warm=1.0,
    buckets=False,
    spread=True,
    counted_bytes=SPARK.broadcast_bytes,
)
"""A run on a server that is there already starts no application. What is sent to all workers is for
the server's threshold to say, and into how many partitions stages are shuffled for its session. The
server's catalog is that of all who use it, so no bucketed table is made there."""

_TABLE = (
    EngineSpec(
        name="spark",
        about="Spark itself",
        start="forerun.spark_jobs.engines.spark:start_spark",
        submitted=True,
    ),
    EngineSpec(
        name="sail",
        about="Sail, quick and without a JVM",
        start="forerun.spark_jobs.engines.sail:start_sail",
        submitted=False,
        prices=SAIL,
        apart=replace(SAIL, run_start=_SAIL_PROCESS),
        gaps=SAIL_GAPS,
        why_not_exact=why_not_exact,
        package="pysail",
    ),
    EngineSpec(
        name="connect",
        about="a Spark Connect server that is there already",
        start="forerun.spark_jobs.engines.connect:start_connect",
        submitted=False,
        prices=ENDPOINT,
        endpoint=True,
    ),
)
ENGINES: Mapping[str, EngineSpec] = MappingProxyType({spec.name: spec for spec in _TABLE})


def engine_spec(name: str) -> EngineSpec:
    """The engine of that name. Raises :class:`UnknownEngineError` if there is none."""
    try:
        return ENGINES[name]
    except KeyError:
        known = ", ".join(f"{spec.name} ({spec.about})" for spec in ENGINES.values())
        raise UnknownEngineError(
            f"there is no engine {name!r}", hint=f"Use one of {known}."
        ) from None


def own_engine(name: str) -> EngineSpec:
    """The engine of that name for commands that start what they need, and measure it.

    Raises :class:`UnknownEngineError` if there is none, or if it is somebody's server.
    """
    spec = engine_spec(name)
    if spec.endpoint:
        others = ", ".join(one.name for one in ENGINES.values() if not one.endpoint)
        raise UnknownEngineError(
            f"engine {name!r} is {spec.about}: only Airflow's tasks know where, by a connection",
            hint=f"Use one of {others}.",
        )
    return spec
