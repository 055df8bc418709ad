"""What sources hold and deliver: pins of files, footers, deliveries, completeness, statistics."""
