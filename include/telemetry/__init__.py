"""The data that other tools are told of reports: lines for logs, samples of metrics. Values only:
who runs the report sends them, and nothing of it may fail a run."""
