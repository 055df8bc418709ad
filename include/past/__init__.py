"""Days that are over: what changed under them, repairs of them, backfills."""
