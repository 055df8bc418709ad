"""What `make up` and the compose file have as Airflow's local settings: runs of a backfill take the
pool that their report names (:mod:`forerun_policy`)."""

from __future__ import annotations

from forerun_policy import task_instance_mutation_hook

__all__ = ["task_instance_mutation_hook"]
