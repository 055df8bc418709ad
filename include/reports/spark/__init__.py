"""The settings of Spark that a report may bring: those that its SQL depends on, and others."""
