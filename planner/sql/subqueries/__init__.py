"""Subqueries become joins of the block that contains them: apply removal, by pulling predicates
up where that suffices, and over the distinct outer values where it does not."""
