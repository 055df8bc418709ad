"""The engine's exceptions as errors a person can act on: its own message, no stack trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from forerun.planner.errors import ForerunError

_HINTS = {
    "No space left on device": "Free space (forerun expire, or a larger disk), then retry the run: "
    "stages that are done are taken over. Nothing is committed.",
    "Unable to execute HTTP request": "The store did not answer. Retry the run when it is back: "
    "stages that are done are taken over. Nothing is committed.",
    "Fail to merge schema": "The files of one source store this column in different ways, "
    "which Spark reads and Sail does not. Deliver them by one writer, or use --engine spark.",
    "Permission denied": "Let this user read and write the store's folders, then retry the run. "
    "Nothing is committed.",
}
"""What an engine says in a message or in its cause, and what to do about it."""
_OTHER = "`forerun plan --format sql` shows the SQL of each stage. Nothing is committed."


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
        raise _failed(what, condition, text, _hint(error)) from error
    except (Py4JError, ConnectionError) as error:  # the latter once the JVM is gone
        text = str(error).partition("\n\tat ")[0].strip()
        raise _failed(what, "JVM", text, _hint(error)) from error


def _hint(error: Exception) -> str:
    said = str(error)
    return next((hint for cause, hint in _HINTS.items() if cause in said), _OTHER)


def _failed(what: str, condition: str, text: str, hint: str) -> StageError:
    message = text if condition in text else f"[{condition}] {text}"
    return StageError(
        f"{what} failed: {message[:2000]}",
        hint=hint,
        code=f"stage:{condition}",
    )
