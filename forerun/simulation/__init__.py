"""A day simulated on a folder of tables, beside its plain query."""
