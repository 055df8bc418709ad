"""The night: all days of a store at once, the worst first, and on one clock."""
