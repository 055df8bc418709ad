"""From a choice to the stages of a run."""
