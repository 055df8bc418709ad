"""What watches a day and tells of it: deadlines, alerts, logs, lineage."""
