"""The rule engine: it applies rules to a memo up to a fixpoint, within a budget of counted work."""
