"""The team's own package of this name, as every Airflow project has one."""
