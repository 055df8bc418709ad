"""Adapters: all I/O of Forerun, and the values that cross into it."""
