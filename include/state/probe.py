"""Refuses a store that takes conditional puts without checking the condition.

Some S3 servers ignore ``If-None-Match`` and answer 200 to every racer: then two attempts of a run
would both believe that they committed it.
"""

from __future__ import annotations

import uuid

from forerun.include.state.layout import PROBE_KEY
from forerun.include.stores.store import Store, UnsafeStoreError

_PASSED = b"conditional puts hold\n"


def probe(store: Store, *, again: bool = False) -> None:
    """Prove that conditional puts hold, once per store: success is remembered in the store.

    Raises :class:`UnsafeStoreError` if a second put is taken where the first one lies, or a put
    over something that has changed. ``again`` probes even if it has passed before (doctor).
    """
    found = None if again else store.find(PROBE_KEY)
    if found is not None and found.data == _PASSED:
        return
    key = f"{PROBE_KEY.rpartition('/')[0]}/{uuid.uuid4().hex}"
    try:
        _prove(store, key)
    finally:
        store.delete(key)
    store.put(PROBE_KEY, _PASSED)


def _prove(store: Store, key: str) -> None:
    # What lies there decides, not whether the first put said that it won: its answer may get lost,
    # and the client's own second try then finds the key taken.
    store.put_if_absent(key, b"1")
    second = store.put_if_absent(key, b"2")
    found = store.find(key)
    if second or found is None or found.data != b"1":
        raise _unsafe(store, "If-None-Match: * did not hold")
    store.put_if_match(key, b"3", found.tag)
    late = store.put_if_match(key, b"4", found.tag)
    now = store.find(key)
    if late or now is None or now.data != b"3":
        raise _unsafe(store, "If-Match did not hold")


def _unsafe(store: Store, what: str) -> UnsafeStoreError:
    return UnsafeStoreError(
        f"the store {store.root} ignores conditional puts ({what})",
        hint="Two attempts could both commit a run. Use a server that honours them "
        "(docs/guides/operations.md lists some), or a folder on a local disk.",
    )
