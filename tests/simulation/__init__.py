"""The whole protocol of a day over a simulated store and clock, one store call at a time."""
