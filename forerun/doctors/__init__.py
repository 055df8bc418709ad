"""Find what a machine, an Airflow or a cluster lacks to run reports."""
