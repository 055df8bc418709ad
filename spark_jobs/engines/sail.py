"""The small engine: a Spark Connect session, by default of a Sail server inside this process.

CPU time is that of this process, which is also the server.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from pyspark.errors import PySparkException

from forerun.include.machine.eventlog import ApplicationUse, StageUse
from forerun.include.machine.settings import s3_settings
from forerun.planner.contract import ColumnSpec, Family
from forerun.spark_jobs.engine import EngineError, Frame, Session, quoted
from forerun.spark_jobs.engines.session import ViewEngine, connect_functions

_ALL_ROWS = 2**31 - 1
_GROUPS_LIMITED = "lim=["
"""How a plan of Sail's says that a grouping makes no more groups than a limit."""
_OTHER_TYPES = {("bigint", "INT"), ("timestamp_ntz", "TIMESTAMP")}
"""What Sail gives where Spark gives another type: numbers of days (``datediff``), and what is cut
to a unit (``date_trunc``). The values are the same; sessions are in UTC."""
_BELIEVED = (
    "SAIL_EXECUTION__COLLECT_STATISTICS",
    "SAIL_PARQUET__PRUNING",
    "SAIL_PARQUET__ENABLE_PAGE_INDEX",
)
_IDLE = "SAIL_SPARK__SESSION_TIMEOUT_SECS"
_IDLE_S = 7 * 24 * 3600
"""How long a session may ask for nothing and is still there. By default it is gone after a quarter
of an hour, for which whoever plans many runs may well not ask anything."""
_STACK = "SAIL_RUNTIME__STACK_SIZE"
_STACK_BYTES = 512 << 20
"""What a thread of the server may take to call itself: up to 25 KB for each part of a chain of AND,
OR, UNION ALL or joins. The default of 8 MB is full, and the process ends, at 300 to 500 parts. The
system gives a thread its memory only as far as the thread uses it."""
_NO_MESSAGE = "Exception deserializing response!"
_SAFE = "/:@!$&'()+,;=~-._"


class SailEngine(ViewEngine):
    """Implements :class:`forerun.spark_jobs.engine.Engine` on a Spark Connect session of Sail."""

    name = "sail"
    reports_cpu = True

    def __init__(self, session: Session, server: object | None = None) -> None:
        super().__init__(session)
        self._server = server
        self._cpu: dict[str, float] = {}

    def path(self, uri: str) -> str:
        """Return the URI as Sail reads it: percent-encoded. A bare ``[`` would be a pattern that
        matches no file, and silently gives no rows."""
        scheme, mark, rest = uri.partition("://")
        return f"{scheme}{mark}{quote(rest, safe=_SAFE)}"

    def bind_view(self, name: str, frame: Frame) -> None:
        frame.createOrReplaceTempView(name)  # Sail takes backticks for a part of the name

    def apart(self, frame: Frame) -> Frame:
        # It takes copies of what was grouped for unique: see forerun.planner.stages.copies.
        one_row = self.session.sql("SELECT 1 AS `__forerun_one`")
        return frame.crossJoin(one_row).select(*map(quoted, frame.columns))

    @contextmanager
    def computed_first(self, view: str, frame: Frame, rows: int) -> Iterator[None]:  # noqa: ARG002
        self.bind_view(view, frame)  # Sail plans without sizes, so there is nothing to count for
        yield

    def conform(self, frame: Frame, columns: Sequence[ColumnSpec]) -> Frame:
        from pyspark.sql.connect.functions import col

        for field, column in zip(frame.schema.fields, columns, strict=False):
            if (field.dataType.simpleString(), column.type) in _OTHER_TYPES:
                name = quoted(field.name)
                frame = frame.withColumn(field.name, col(name).cast(column.type))
        return frame

    def write_artifact(self, frame: Frame, family: Family, folder: str) -> int | None:
        from pyspark.sql.connect.functions import col

        # Beside a count of distinct values Sail adds decimals up in a wider type than it says, and
        # a file of that type is not one of the family.
        exact = {c.name: c.type for c in family.columns if c.type.startswith("DECIMAL")}
        for name, kind in exact.items():
            frame = frame.withColumn(name, col(f"`{name}`").cast(kind))
        frame.write.mode("overwrite").parquet(self.path(folder))
        return None  # Sail answers a write with nothing, and refuses to observe one

    def write_result(self, frame: Frame, folder: str, *, ordered: bool, by: str = "") -> int | None:
        # Sail spreads rows over files before it writes, also after ORDER BY and coalesce(1): only a
        # limit at the top keeps them together and in order.
        rows = frame.limit(_limit(frame)) if ordered else frame
        columns = filter(None, (by,))
        rows.write.mode("overwrite").partitionBy(*columns).parquet(self.path(folder))
        return None

    @contextmanager
    def working_on(self, stage: str) -> Iterator[None]:
        before = time.process_time()
        try:
            with connect_functions():
                yield
        finally:
            self._cpu[stage] = self._cpu.get(stage, 0.0) + time.process_time() - before

    def used(self) -> ApplicationUse:
        return ApplicationUse(
            tuple(StageUse(name, cpu, 0, 0, 0, 0, ()) for name, cpu in sorted(self._cpu.items()))
        )

    def stop(self) -> None:
        self.session.stop()
        if self._server is not None:
            self._server.stop()  # type: ignore[attr-defined]


def _limit(frame: Frame) -> int:
    """Return a limit above the rows that a frame has. A grouping directly below an order reserves
    memory for as many groups as the limit: there, rows are counted first, which computes them
    twice, and the limit is twice as many, should a query that depends on chance have more then."""
    try:
        plan: str = frame.limit(_ALL_ROWS)._explain_string("formatted")  # noqa: SLF001 - no other way
    except PySparkException:  # Sail cannot explain every query that it can run
        plan = _GROUPS_LIMITED
    return 2 * int(frame.count()) + 1 if _GROUPS_LIMITED in plan else _ALL_ROWS


def start_sail(*, master: str | None = None, name: str = "") -> SailEngine:  # noqa: ARG001
    """Start a Sail server on a free port of this machine and open a session on it.

    A server inside this process has neither a Spark ``master`` nor a ``name`` to be listed by.
    Raises :class:`EngineError` if pysail is not installed.
    """
    server = start_server()
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession

    address = server.listening_address
    session = SparkSession.builder.remote(f"sc://{address[0]}:{address[1]}").create()
    session.client.disable_reattachable_execute()  # Sail may lose what it is asked to go on with
    session.client.set_retry_policies([_questions_asked_again(), DefaultPolicy()])
    return SailEngine(session, server)


def _questions_asked_again() -> Any:
    """Return the policy that asks again where the bytes of one answer are no message, which was
    seen of an analysis while both cores were taken. What comes as a stream is not asked again: its
    first rows may have been taken."""
    import grpc
    from pyspark.sql.connect.client.retries import RetryPolicy

    class Again(RetryPolicy):
        def can_retry(self, exception: BaseException) -> bool:
            streamed = hasattr(exception, "__next__")
            one = isinstance(exception, grpc.RpcError) and not streamed
            return one and _NO_MESSAGE in str(exception)

    return Again(max_retries=3, initial_backoff=50)


def start_server() -> Any:
    """Start a Sail server in this process, with the settings that results rest on."""
    # Else every query is a line on stderr, between the lines that people read.
    os.environ.setdefault("RUST_LOG", "error")
    try:
        from pysail.spark import SparkConnectServer
    except ImportError:
        raise EngineError(
            "the small engine is not installed", hint="Install pysail, or use --engine spark."
        ) from None

    # Sail takes the counts and bounds of footers for facts: it leaves out filters by them when it
    # plans, and rows when it reads. A source's footers are a declaration, and the parts of a day
    # would believe it otherwise than the plain query does.
    for believed in _BELIEVED:
        os.environ[believed] = "false"
    os.environ.setdefault(_STACK, str(_STACK_BYTES))
    os.environ.setdefault(_IDLE, str(_IDLE_S))
    if s3_settings().endpoint.startswith("http://"):
        # An S3 server of one's own without TLS: boto3 and S3A take it, Sail wants to be told.
        os.environ.setdefault("AWS_ALLOW_HTTP", "true")
    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    return server
