"""Breaks of where jobs run: the archive that is shipped, settings and deployment."""

from __future__ import annotations

from scripts.mutations.mutation import Mutation

MACHINE = (
    Mutation(
        "archive: a room stays at home", "include/machine/job_archive.py",
        '_ROOMS = ("spark_jobs", "planner", "include")', '_ROOMS = ("spark_jobs", "planner")',
        suite=("tests/spark/test_job_archive.py",),
    ),
    Mutation(
        "spark_conf: a report may set anything", "include/reports/spark/spark_conf.py",
        "        if setting is None:\n", "        if setting is None:\n            continue\n",
    ),
    Mutation(
        "spark_conf: values may be anything", "include/reports/spark/spark_conf.py",
        "any(v.fullmatch(value) for v in setting.values)", "value",
    ),
    Mutation(
        "deployment: credentials in the URL of a jar are logged", "include/machine/deployment.py",
        "if _MAY_BE_SECRET.search(theirs):", "if not theirs:",
    ),
    Mutation(
        "deployment: spark-submit is not asked", "spark_jobs/engines/spark.py",
        "    return SparkConf()\n", "    return SparkConf(False)\n",
        suite=("tests/spark/test_deployment.py",),
    ),
)  # fmt: skip
