"""The state store: protocols, layout, records, commits."""

from __future__ import annotations

from include.state.opening import open_store, split_uri
from include.state.store import Store, StoreReader, StoreWriter

__all__ = ["Store", "StoreReader", "StoreWriter", "open_store", "split_uri"]
