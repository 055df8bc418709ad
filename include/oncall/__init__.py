"""Views for the person on call, as values read from the store: nights, days, plans."""
