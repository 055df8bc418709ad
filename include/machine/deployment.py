"""The deployment's own settings for every Spark application: its ``spark-defaults.conf``.

A setting on the command line replaces the one in that file. Where a setting is a list (class
path, jars), Forerun's entries must come beside the deployment's, so the file is read where
applications are submitted. Command lines are logged: nothing of the file but these lists goes onto
one, and no entry of them that may hold a secret.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from forerun.planner.errors import ForerunError

JAVA_OPTIONS = "spark.driver.defaultJavaOptions"
LOG_LEVEL = "spark.log.level"
"""Where Forerun's own Java options go: what a deployment wants to add goes elsewhere."""
_SEPARATORS = {
    "spark.driver.extraClassPath": os.pathsep,
    "spark.jars": ",",
}
_ENTRY = re.compile(r"((?:\\.|[^\\=:\s])+)\s*[=:\s]?\s*(.*)")
_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t\f]*")
_ESCAPED = re.compile(r"\\(.)")
_MAY_BE_SECRET = re.compile(r"[@?]")
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class DeploymentError(ForerunError):
    """The deployment's ``spark-defaults.conf`` says something that cannot be gone on with."""

    code = "deployment"


def deployment_defaults(environ: Mapping[str, str], spark_home: Path) -> dict[str, str]:
    """The settings of the ``spark-defaults.conf`` that spark-submit will read: of the folder
    ``SPARK_CONF_DIR``, else of ``conf`` in Spark's own. Empty if there is no such file."""
    folder = Path(environ.get("SPARK_CONF_DIR") or spark_home / "conf")
    try:
        text = (folder / "spark-defaults.conf").read_text(encoding="utf-8")
    except OSError:
        return {}
    return dict(_entries(text))


def beside(
    own: Iterable[tuple[str, str]], deployment: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """``own`` settings for a command line that lose nothing of what the deployment says.

    Of lists, Forerun's entries come first: a class-data archive fits only a class path that begins
    with them. The Java options of the drivers are the deployment's ``extraJavaOptions``; its
    ``defaultJavaOptions``, if there are any, take the place of Forerun's, which only save time.
    Raises :class:`DeploymentError` where an entry of a list may hold a secret.
    """
    return tuple(
        (name, _joined(name, value, deployment.get(name, "")))
        for name, value in own
        if name != JAVA_OPTIONS or not deployment.get(name)
    )


def _joined(name: str, own: str, theirs: str) -> str:
    separator = _SEPARATORS.get(name)
    if separator is None or not theirs:
        return own
    if _MAY_BE_SECRET.search(theirs):
        raise DeploymentError(
            f"{name} in spark-defaults.conf has a user or a query in a URL, which would become a "
            "part of a command line that is logged",
            hint="Name the jars by paths, or by URLs without credentials.",
        )
    return separator.join((own, theirs))


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """Names and values of a file in the format of Java's properties, values trimmed as Spark does.

    ``#`` and ``!`` begin comments, a backslash at the end of a line continues it, ``=``, ``:`` or
    blanks end a name.
    """
    whole = _CONTINUED.sub(r"\1", text)
    for line in whole.splitlines():
        stripped = line.strip()
        if stripped and stripped[0] not in "#!" and (found := _ENTRY.fullmatch(stripped)):
            yield _plain(found[1]), _plain(found[2]).strip()


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda match: _CONTROL.get(match[1], match[1]), text)
