"""The values that authors give the fields of a report: times, lengths, names, byte counts."""
