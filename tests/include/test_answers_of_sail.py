"""What the small engine answers, on its way through a proxy that spoils some of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from pyspark.errors import PySparkException

from forerun.spark_jobs.engines import sail

_NONE = b"\xff\xff"


class Proxy(grpc.GenericRpcHandler):
    """Passes bytes on to a server; ``spoiled`` methods answer so often with bytes that are none."""

    def __init__(self, address: str) -> None:
        self.channel, self.spoiled = grpc.insecure_channel(address), {"": 0}

    def service(self, details: Any) -> Any:
        path = details.method
        name = path.rpartition("/")[2]
        one, many = self.channel.unary_unary(path), self.channel.unary_stream(path)

        def answer(request: bytes, _: Any) -> bytes:
            return _NONE if self._is_spoiled(name) else one(request)

        def answers(request: bytes, _: Any) -> Iterator[bytes]:
            yield from [_NONE] if self._is_spoiled(name) else many(request)

        if name == "ExecutePlan":
            return grpc.unary_stream_rpc_method_handler(answers)
        return grpc.unary_unary_rpc_method_handler(answer)

    def _is_spoiled(self, name: str) -> bool:
        left = self.spoiled.get(name, 0)
        self.spoiled[name] = left - 1
        return left > 0


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Proxy, Any]]:
    server, front = sail.start_server(), grpc.server(ThreadPoolExecutor(4))
    proxy = Proxy("{}:{}".format(*server.listening_address))
    front.add_generic_rpc_handlers((proxy,))
    port = front.add_insecure_port("127.0.0.1:0")
    front.start()
    server_of_engine = type("Front", (), {"listening_address": ("127.0.0.1", port)})
    monkeypatch.setattr(sail, "start_server", lambda: server_of_engine)
    engine = sail.start_sail()
    yield proxy, engine.session
    engine.session.stop()
    front.stop(None)
    server.stop()


def test_an_analysis_is_asked_again(proxied: tuple[Proxy, Any]) -> None:
    proxy, session = proxied
    proxy.spoiled["AnalyzePlan"] = 2
    assert session.sql("SELECT 1 AS a").schema.names == ["a"]
    assert proxy.spoiled["AnalyzePlan"] < 0


@pytest.mark.parametrize(
    ("method", "times", "ask"),
    [
        ("AnalyzePlan", 9, lambda frame: frame.schema),
        ("ExecutePlan", 1, lambda frame: frame.collect()),
    ],
)
def test_nothing_is_asked_for_ever_nor_rows_twice(
    method: str, times: int, ask: Callable[[Any], object], proxied: tuple[Proxy, Any]
) -> None:
    proxy, session = proxied
    frame = session.sql("SELECT 1 AS a")
    proxy.spoiled[method] = times
    with pytest.raises(PySparkException, match="deserializing"):
        ask(frame)
    assert proxy.spoiled[method] == (times - 4 if method == "AnalyzePlan" else 0)
