"""The sources of a report: its tables, how they change, and when their day is complete."""
