"""A day of a small shop, reported progressively: the data, the runs, the page."""
