"""The content of sources: pins of files, footers, deliveries, completeness, statistics."""
