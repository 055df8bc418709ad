"""A plan for people: as a tree of operators, as the SQL of each run, as JSON."""
