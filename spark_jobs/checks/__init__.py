"""Expectations on sources and results, evaluated by Great Expectations in a run's own session."""
