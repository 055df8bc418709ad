"""The state store: protocols, layout, records, commits."""

from __future__ import annotations

from forerun.include.state.opening import open_store, split_uri
from forerun.include.state.store import Store, StoreReader, StoreWriter

__all__ = ["Store", "StoreReader", "StoreWriter", "open_store", "split_uri"]
