"""The aggregates: their types, their states, how states merge and take rows away."""
