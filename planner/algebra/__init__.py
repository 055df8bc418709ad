"""The relational algebra: frozen values, columns by id, validated when they are built."""
