"""Forerun: daily reports on Airflow and Spark, computed early, published exact.

``planner``, ``include``, ``spark_jobs`` and ``airflow`` lie behind links in a checkout; the wheel
has them as folders.
"""
