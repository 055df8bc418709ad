"""What a report is, as pure values: its spec, run policy, clock times, expectations, sizes."""
