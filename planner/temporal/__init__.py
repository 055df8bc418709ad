"""When each operator runs: early, in every opened run, or once, in the final one."""
