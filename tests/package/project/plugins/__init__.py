"""The team's plugins."""
