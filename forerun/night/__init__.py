"""A night of reports: its file, its plan under one ceiling, its picture."""
