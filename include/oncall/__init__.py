"""What the person on call is shown, as values read from the store: nights, days, plans."""
