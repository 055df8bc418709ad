"""One query for many days: the day is a column that every operator carries."""
