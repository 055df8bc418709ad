"""Calls whom an author names to be told of alerts, and checks that where the DAG file is read.

That is a function, by its dotted path, or a notifier of Airflow: itself, or by the dotted path of
one in a module. Workers import it, and for the alerts at a deadline the triggerer does, which has
no folder of DAGs on its path. A notifier is given the alert as ``alert`` of its context, so its
templates can have ``{{ alert.text }}``.
"""

from __future__ import annotations

import asyncio
import copy
import importlib
import inspect
import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from airflow.configuration import conf
from airflow.sdk import BaseNotifier

from forerun.include.reports.spec import SpecError

if TYPE_CHECKING:
    from forerun.include.oncall.alerts import Alert

Notify: TypeAlias = Any
"""A dotted path, or a notifier: to the type checker Airflow's class is no type."""

_PATH = re.compile(r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+\Z")
_EXAMPLE = 'Write its module and name, such as notify="oncall.pager.send", or give a notifier.'


def check_notify(notify: Notify) -> Notify:
    """Return what an author has named. Raises :class:`SpecError` for what cannot be imported here,
    or cannot be called with an alert."""
    if isinstance(notify, str) and notify:
        _refuse_uncallable(notify, _found(notify))
    elif notify and not isinstance(notify, BaseNotifier):
        raise SpecError(
            f"the option notify is {notify!r}, which is neither the dotted path of a function nor "
            "a notifier of Airflow",
            hint=_EXAMPLE,
        )
    return notify


def for_triggerer(notify: Notify) -> str | dict[str, Any]:
    """Return what the triggerer makes the function or the notifier of, as JSON. Raises
    :class:`SpecError` for what it cannot."""
    check_notify(notify)
    if isinstance(notify, str):
        _refuse_dag_folder(notify, notify.rpartition(".")[0])
        return notify
    kind = type(notify)
    _refuse_dag_folder(f"{kind.__module__}.{kind.__qualname__}", kind.__module__)
    named = inspect.signature(kind.__init__).parameters.values()
    wanted = [
        one.name for one in named if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    ]
    given = {
        name: getattr(notify, name)
        for name in wanted
        if name not in _NOT_GIVEN and hasattr(notify, name)
    }
    try:
        again = kind(**json.loads(json.dumps(given)))
    except TypeError:
        again = None
    # What it was made of need not be what it keeps: it is made here once, to compare.
    if again is None or _kept(again) != _kept(notify):
        raise SpecError(
            f"the triggerer cannot make the {kind.__name__} that the option notify is: what it was "
            "made of is not known, or is no JSON",
            hint="Make it in a module that the triggerer imports, and name it there, such as "
            'notify="oncall.pager.notifier".',
        )
    return {_CLASS: f"{kind.__module__}.{kind.__qualname__}", _ARGUMENTS: given}


_CLASS, _ARGUMENTS = "notifier", "arguments"
_NOT_GIVEN = ("self", "context")


def _kept(notifier: BaseNotifier) -> dict[str, Any]:
    return {name: value for name, value in vars(notifier).items() if not name.startswith("_")}


def why_not(handed: str | Mapping[str, Any]) -> tuple[str, str] | None:
    """Return why this process cannot call what a deadline alert names, with what to do about it;
    None if it can."""
    try:
        named = _made(handed)
        if isinstance(handed, str):
            _refuse_uncallable(handed, named)
    except SpecError as error:
        return error.message, error.hint
    except TypeError as error:
        return f"the notifier {handed} cannot be made: {error}", "Name one in a module."
    return None


def send(notify: Notify | Mapping[str, Any], alert: Alert) -> None:
    """Call what an author has named with an alert; nothing for an empty name. Raises what it
    raises."""
    if not notify:
        return
    named = _made(notify)
    if not isinstance(named, BaseNotifier):
        named(alert)
        return
    notifier = copy.copy(named)  # to render its templates changes it
    context: Any = {"alert": alert, "dag": None}
    if type(notifier).notify is not BaseNotifier.notify:
        notifier(context)
    else:
        asyncio.run(_awaited(notifier, context))


async def _awaited(notifier: BaseNotifier, context: Any) -> None:
    notifier.context = context
    await notifier


def _made(notify: Notify | Mapping[str, Any]) -> Any:
    if isinstance(notify, str):
        return _found(notify)
    if isinstance(notify, BaseNotifier):
        return notify
    return _found(notify[_CLASS])(**notify[_ARGUMENTS])


def _found(path: str) -> Any:
    """Return what a dotted path names."""
    if not _PATH.match(path):
        said = f"the option notify is {path!r}, which is not the dotted path of a function"
        raise SpecError(said, hint=_EXAMPLE)
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise SpecError(
            f"the option notify is {path!r}, which cannot be imported here: {error}",
            hint="Workers and the triggerer have to import it: install its module, or put it where "
            "PYTHONPATH leads in all of them, or into the folder of plugins.",
        ) from None


def _refuse_uncallable(path: str, named: Any) -> None:
    if isinstance(named, BaseNotifier):
        return
    try:
        if not callable(named):
            raise TypeError("it cannot be called")
        inspect.signature(named).bind("alert")
        if inspect.iscoroutinefunction(named):
            raise TypeError("it is a coroutine, which nobody would await")
    except TypeError as error:
        raise SpecError(
            f"the option notify is {path!r}, which cannot be called with an alert: {error}",
            hint="It is called with one argument, an Alert: def send(alert): ...",
        ) from None
    except ValueError:  # written in C: whether it fits shows when it is called
        return


def _refuse_dag_folder(path: str, module: str) -> None:
    """Raise for a module that is found because this process reads DAG files: the triggerer reads
    none, and would not find it when the deadline has passed."""
    file = getattr(sys.modules.get(module.partition(".")[0]), "__file__", None)
    if file is None:
        return
    at = Path(file).resolve()
    given = [
        Path(one).resolve() for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one
    ]
    if any(at.is_relative_to(one) for one in given):
        return
    if any(at.is_relative_to(folder) for folder in _dag_folders()):
        raise SpecError(
            f"the triggerer calls {path} at the deadline and cannot import it: {at} lies in the "
            "folder of DAGs, which the triggerer does not have on its path",
            hint="Put it into the folder of plugins, install it, or have PYTHONPATH lead to it in "
            "the triggerer and in all else.",
        )


def _dag_folders() -> list[Path]:
    storage = conf.get("dag_processor", "dag_bundle_storage_path", fallback="")
    bundles = storage or f"{tempfile.gettempdir()}/airflow/dag_bundles"
    return [Path(one).resolve() for one in (conf.get("core", "dags_folder"), bundles)]
