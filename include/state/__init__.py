"""State in a store: layout, records, commits, and its clean-up."""
