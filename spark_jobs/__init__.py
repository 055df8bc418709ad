"""The program that spark-submit runs: the stages of one run. Knows the plan contract, never the
planner."""

from __future__ import annotations

from forerun.spark_jobs.installed import prefer_installed

prefer_installed()  # before any module imports pyspark
