"""Tables with a log, of Delta and Iceberg: which files a version has, and what commits did."""
