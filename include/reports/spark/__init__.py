"""What a report says of Spark: settings on which its SQL's meaning depends, and others."""
