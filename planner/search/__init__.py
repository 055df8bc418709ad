"""Rules to a fixpoint over the memo, within a budget that is counted, never timed."""
