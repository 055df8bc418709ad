"""A text becomes sqlglot's tree here, and nothing knows a column or a type yet.

The words come first, then Spark's grammar, then what surrounds a query: templates, views, and the
statement that it stands in.
"""
