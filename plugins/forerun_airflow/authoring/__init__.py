"""The functions that authors call: a DAG of a report or of a group, its options and its form."""
