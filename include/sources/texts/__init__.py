"""Files of text as sources: CSV, and JSON in lines."""
