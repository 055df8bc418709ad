"""Commands about what a store holds: days, results, repairs, savings."""
