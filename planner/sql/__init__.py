"""SQL text to algebra and back. The only place that knows sqlglot."""
