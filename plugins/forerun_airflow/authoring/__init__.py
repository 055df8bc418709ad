"""What authors write: a DAG of a report or of a group, its options and its form."""
