"""Tables that results are published into: one transaction replaces the rows of a day."""
