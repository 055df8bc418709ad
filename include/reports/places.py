"""The kinds of places where files may lie: those that Forerun reads and writes, and no others.

A place that nothing can read is refused where it is written down. It would otherwise be found when
the day is already late, or be waited for until somebody looks.
"""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from forerun.include.reports.values.fields import SpecError

SUPPORTED = "an absolute path (/lake/orders), file:///path, or s3://bucket/prefix (s3a:// as well)"
_SERVICE = re.compile(r"([a-z]+)://[A-Za-z0-9_.-]+/[^/@\s\x00-\x1f]+\Z")
_ELSEWHERE = {
    "gs": "Google Cloud Storage",
    "abfs": "Azure storage",
    "abfss": "Azure storage",
    "wasb": "Azure storage",
    "wasbs": "Azure storage",
    "hdfs": "HDFS",
    "viewfs": "HDFS",
    "dbfs": "the file system of Databricks",
    "http": "a web server",
    "https": "a web server",
    "jdbc": "a database",
    "hive": "a table of a catalog",
}


def check_place(uri: str, what: str, *, root: bool = False) -> None:
    """Raise :class:`SpecError` unless ``uri`` is a folder in a place that Forerun can use.

    ``what`` names it in the error, such as ``source orders: the path``. ``root``: a whole bucket
    will do. The place itself is not looked at.
    """
    if not uri.isprintable():
        raise _unsupported(f"{what} {uri!r} has a control character")
    if root and "\\" in uri:
        raise _unsupported(f"{what} {uri!r} has a backslash, which Hadoop takes for an escape")
    scheme, mark, rest = uri.partition("://")
    if not mark and not uri.startswith("file:"):
        _check_path(uri, what)
        return
    parts = urlsplit(uri)
    if "@" in rest.partition("/")[0]:
        raise SpecError(
            f"{what} holds credentials",  # and is not shown
            hint="Leave them out: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, "
            "a profile or a role of the machine are found by themselves.",
        )
    if parts.scheme not in ("file", "s3", "s3a"):
        known = _ELSEWHERE.get(scheme.lower())
        where = f" ({known})" if known else ""
        raise _unsupported(f"{what} {uri!r}: {scheme}://{where} is not supported")
    if parts.query or parts.fragment or uri.endswith(("?", "#")):
        raise _unsupported(f"{what} {uri!r} has a ? or a #, which no folder in a URI may have")
    if parts.scheme == "file" and (parts.netloc not in ("", "localhost") or len(parts.path) < 2):
        raise _unsupported(f"{what} {uri!r} names no folder of this machine")
    if parts.scheme != "file" and not parts.netloc:
        raise _unsupported(f"{what} {uri!r} names no bucket")
    if parts.scheme != "file" and not root and not parts.path.strip("/"):
        raise _unsupported(f"{what} {uri!r} names a bucket and no folder in it")


def check_service(uri: str, what: str, scheme: str, holds: str) -> None:
    """Raise :class:`SpecError` unless ``uri`` is ``<scheme>://<connection>/<name>``: the id of an
    Airflow connection, and the name of what ``holds`` says, such as ``a topic``."""
    if (found := _SERVICE.match(uri)) and found[1] == scheme:
        return
    shown = repr(uri) if "@" not in uri else "that holds credentials"
    raise SpecError(
        f"{what} {shown} does not name {holds}",
        hint=f"Write {scheme}://shop/name: the id of an Airflow connection, which says where the "
        f"server is and how to log in, and the name of {holds}.",
    )


def split_service(uri: str) -> tuple[str, str]:
    """Return the id of the connection and the name that the URI of a service has."""
    _, _, rest = uri.partition("://")
    connection, _, name = rest.partition("/")
    return connection, unquote(name)


def _check_path(path: str, what: str) -> None:
    if path.startswith("//"):  # a host, and maybe a password: it is not shown
        raise _unsupported(f"{what} begins with //, which is no folder of this machine")
    if path == "/":
        raise _unsupported(f"{what} {path!r} is the root of the machine")
    if not path.startswith("/"):
        why = "is neither an absolute path nor a URI"
        if "/" not in path and "." in path:
            why = "looks like a table of a catalog, which Forerun does not read"
        raise _unsupported(f"{what} {path!r} {why}")


def _unsupported(message: str) -> SpecError:
    return SpecError(message, hint=f"Supported are {SUPPORTED}.")
