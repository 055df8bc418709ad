"""Sums of DECIMALs that give the same values for less work."""
