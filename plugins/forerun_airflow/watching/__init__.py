"""Watch a day and tell of it: deadlines, alerts, logs, lineage."""
