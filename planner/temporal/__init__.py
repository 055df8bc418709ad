"""The temporal search decides when each operator runs: in every opened run on what is new, or once
in the final run."""
