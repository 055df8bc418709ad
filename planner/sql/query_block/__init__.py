"""A SELECT block is bound clause by clause, and becomes operators of the algebra."""
