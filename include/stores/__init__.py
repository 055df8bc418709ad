"""Stores: the protocol, a folder and S3 behind it, and opening one by its URI."""

from __future__ import annotations

from forerun.include.stores.opening import open_store, split_uri
from forerun.include.stores.store import Store, StoreReader, StoreWriter

__all__ = ["Store", "StoreReader", "StoreWriter", "open_store", "split_uri"]
