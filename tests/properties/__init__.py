"""Properties: the delta laws, and generated cases against batch."""
