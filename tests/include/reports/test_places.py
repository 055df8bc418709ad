"""Places that nothing here can read are refused when the report is built."""

from __future__ import annotations

import pytest

from forerun.include.reports.places import check_place
from forerun.include.reports.spec import PartitionFolder, SpecError
from tests.airflow.reports import sales_report, sales_source

WRONG = [
    ("gs://lake/orders/{ds}", "Google Cloud Storage"),
    ("hdfs://name:8020/orders/{ds}", "HDFS"),
    ("hdfs:///orders", "HDFS"),
    ("abfss://c@account.dfs.core.windows.net/orders", "credentials|Azure"),
    ("https://lake/orders", "a web server"),
    ("hive.db.orders", "table of a catalog"),
    ("db.orders", "table of a catalog"),
    ("hive://db/orders", "table of a catalog|a table"),
    ("ftp://lake/orders", "ftp:// is not supported"),
    ("S4://lake/orders", "not supported"),
    ("lake/orders", "neither an absolute path"),
    ("./orders/{ds}", "neither an absolute path"),
    ("s3:///orders", "no bucket"),
    ("s3://lake", "no folder"),
    ("s3:/lake/orders", "neither an absolute path"),
    ("file://host/orders", "no folder of this machine"),
    ("file:///", "no folder of this machine"),
    ("/", "the root"),
    ("s3://lake/orders?version=1", "a [?] or a #"),
    ("s3://lake/orders#1", "a [?] or a #"),
    ("//host/orders", "begins with //"),
    ("///", "begins with //"),
    ("/lake/orders\n", "a control character"),
    ("s3://lake/\x00", "a control character"),
]


@pytest.mark.parametrize(("uri", "words"), WRONG)
def test_a_place_that_cannot_be_read_is_refused_with_a_list_of_those_that_can(
    uri: str, words: str
) -> None:
    with pytest.raises(SpecError, match=words) as caught:
        sales_source("/d", path=uri)
    if "credentials" not in caught.value.message:
        assert "s3://bucket/prefix" in caught.value.hint
    with pytest.raises(SpecError, match=words):
        PartitionFolder(path=uri)
    if uri != "s3://lake":
        with pytest.raises(SpecError, match=words):
            sales_report(store=uri)


@pytest.mark.parametrize("start", ["s3://", "//"])
def test_credentials_are_refused_and_not_shown(start: str) -> None:
    with pytest.raises(SpecError, match=r"credentials|begins with //") as caught:
        sales_source("/d", path=f"{start}AKIA:" + "hidden-value@lake/orders")
    assert "hidden-value" not in str(caught.value)
    assert "AKIA:" not in str(caught.value)


@pytest.mark.parametrize(
    "uri",
    ["/lake/orders", "file:///lake/orders", "file:/lake/orders", "file://localhost/lake/orders",
     "s3://lake/orders/{ds}/", "s3a://lake/orders", "/lake/with.dots/x", "/lake/a?b#c"],
)  # fmt: skip
def test_places_that_are_supported(uri: str) -> None:
    check_place(uri, "x")
    assert sales_source("/d", path=uri).path == uri


def test_a_store_may_be_a_whole_bucket() -> None:
    assert sales_report(store="s3://lake").store == "s3://lake"
