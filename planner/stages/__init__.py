"""Turn a choice into the stages of a run."""
