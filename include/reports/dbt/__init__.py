"""Reports and expectations from a project of dbt."""
