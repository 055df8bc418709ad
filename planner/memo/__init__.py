"""The memo: groups of equal relations, and the time-varying relations that they are versions of."""
