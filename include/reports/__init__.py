"""Reports as pure values: their spec, run policy, clock times, expectations, sizes."""
