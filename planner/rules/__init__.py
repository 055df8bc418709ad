"""Rules: each a small piece of data and one function, one family a file."""
