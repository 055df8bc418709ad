"""The engine's exceptions as errors a person can act on: its own message, no stack trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from planner.errors import ForerunError


class StageError(ForerunError):
    """The engine refused or failed something; the code carries Spark's own error class."""

    code = "stage"


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Raise :class:`StageError` that says that ``what`` failed, with the engine's reason."""
    try:
        yield
    except PySparkException as error:
        condition = error.getCondition() or error.__class__.__name__
        text = (error.getMessage() or str(error)).split("\n\nJVM stacktrace:")[0].strip()
        raise _failed(what, condition, text) from error
    except Py4JError as error:
        raise _failed(what, "JVM", str(error).partition("\n\tat ")[0].strip()) from error


def _failed(what: str, condition: str, text: str) -> StageError:
    message = text if condition in text else f"[{condition}] {text}"
    return StageError(
        f"{what} failed: {message[:2000]}",
        hint="`forerun plan --format sql` shows the SQL of each stage. Nothing is committed.",
        code=f"stage:{condition}",
    )
