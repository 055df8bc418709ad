"""Names, literals, operators and calls get their meaning: a tree becomes a typed scalar."""
