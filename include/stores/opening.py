"""Open the store that a URI names."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from forerun.include.machine.jvm import home_folder
from forerun.include.machine.options import STORE, environment
from forerun.include.machine.settings import store_access
from forerun.include.stores.file_store import FileStore
from forerun.include.stores.store import Store, StoreError

_OF_A_DAY = re.compile(r"(.+)(/reports/)([^/]+/[0-9]{4}-[0-9]{2}-[0-9]{2}/[0-9]+/.+)\Z", re.DOTALL)
"""The URI of a file of a day. A report, and a folder above the store, may be named ``reports``."""


def default_store() -> str:
    """The URI of the store of reports that name none: the one that the deployment names
    (:data:`forerun.include.machine.options.STORE`), else at home."""
    return environment().get(STORE.variable) or (home_folder() / "store").as_uri()


def open_store(uri: str) -> Store:
    """Open ``/path``, ``file:///path`` or ``s3://bucket/prefix``. Nothing is read or written yet.

    S3 settings come from the environment, see :func:`forerun.include.machine.settings.s3_settings`.
    """
    refuse_credentials(uri)
    if "\\" in uri:
        raise StoreError(
            f"the store {uri!r} has a backslash, which Hadoop takes for an escape",
            hint="Use a folder without one: paths have / between their parts.",
        )
    parts = urlsplit(uri)
    if parts.scheme == "" and uri:
        return FileStore(Path(uri), access=store_access())
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path:
        return FileStore(Path(unquote(parts.path)), access=store_access())
    if parts.scheme in ("s3", "s3a") and parts.netloc:
        from forerun.include.machine.settings import s3_settings
        from forerun.include.stores.s3_store import S3Store

        return S3Store(parts.netloc, parts.path.strip("/"), s3_settings())
    raise StoreError(
        f"{uri!r} is not the URI of a store",
        hint="Use /path, file:///path or s3://bucket/prefix.",
    )


def refuse_credentials(uri: str) -> None:
    """Raise :class:`StoreError`, without saying them, if a URI holds a user or a password: it
    would end up in plans, logs and error messages."""
    scheme, mark, rest = uri.partition("//")
    authority = (rest if mark and "/" not in scheme else uri).partition("/")[0]
    user, at, host = authority.rpartition("@")
    if not at and scheme in ("s3:", "s3a:") and ":" in authority:
        host = "..."  # no bucket has a colon in its name: a password with a slash in it
    # A folder may have an @ in its name; what has a colon before it looks like a password.
    elif not at or not (mark or ":" in user):
        return
    raise StoreError(
        f"the URI {scheme if mark else ''}{mark}***@{host} holds credentials",
        hint="Leave them out: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, a "
        "profile or a role of the machine are found by themselves.",
    )


def split_uri(uri: str) -> tuple[str, str]:
    """``(store root, key)`` of the URI of a file below ``<root>/reports/``.

    This is how a job that is given only the URI of its plan finds its store.
    """
    found = _OF_A_DAY.match(uri)
    root, mark, rest = (found[1], found[2], found[3]) if found else uri.rpartition("/reports/")
    if not mark or not root or not rest:
        raise StoreError(
            f"{uri!r} does not lie below the reports/ folder of a store",
            hint="Pass the URI that planning the run returned.",
        )
    return root, f"reports/{rest}"
