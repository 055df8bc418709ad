"""Sources that are asked of a server: topics of Kafka, tables of PostgreSQL."""
