"""This computer: settings, the JVM, CPU meters, event logs, a local S3 server, the job archive."""
