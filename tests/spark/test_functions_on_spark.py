"""The table of functions against the registry of the installed Spark, and sessions without what
reports may not call."""

from __future__ import annotations

import pytest

from forerun.planner.algebra import functions
from forerun.planner.algebra.aggregates import functions as aggregate_functions
from forerun.planner.algebra.spark_functions import ALWAYS_REFUSED, KINDS
from forerun.spark_jobs.engines.spark import SparkEngine

pytestmark = pytest.mark.spark
_GRAMMAR = {"timestampadd", "timestampdiff"}


def test_every_function_of_the_registry_has_been_looked_at(spark: SparkEngine) -> None:
    others = aggregate_functions.NAMES | functions.WINDOW_ONLY | functions.GENERATORS
    registry = {row[0] for row in spark.session.sql("SHOW FUNCTIONS").collect()}
    assert len(registry) > 500
    assert sorted(registry - set(KINDS) - others) == [], "new functions: what are they?"
    assert sorted(set(KINDS) - registry - ALWAYS_REFUSED - _GRAMMAR) == []


@pytest.mark.parametrize("name", ["reflect", "java_method", "try_reflect"])
def test_a_session_cannot_call_what_reports_may_not(spark: SparkEngine, name: str) -> None:
    call = f"SELECT {name}('java.lang.System', 'getProperty', 'user.home')"
    with pytest.raises(Exception, match="UNRESOLVED_ROUTINE"):
        spark.session.sql(call).collect()


def test_a_session_puts_nothing_of_its_environment_into_a_text(spark: SparkEngine) -> None:
    text = "${env:PATH} ${system:user.name} ${spark.app.name}"
    assert spark.session.sql(f"SELECT '{text}' AS x").collect()[0][0] == text


def test_xml_reads_no_file_that_it_names(spark: SparkEngine) -> None:
    document = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'
    found = spark.session.sql(f"SELECT xpath_string('{document}', 'a') AS x").collect()[0][0]
    assert "root" not in (found or "")
