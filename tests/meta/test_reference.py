"""The reference of fields and of error codes is whole, and as the code is now."""

from __future__ import annotations

import ast
import re

import pytest

from forerun import airflow
from scripts import reference
from tests.meta.sources import ROOT, modules, tree

RECORDS = {name: file for _, records in reference.RECORDS for name, file in records}
ERRORS = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")


def test_the_page_of_fields_is_up_to_date():
    said = reference.PAGE.read_text(encoding="utf-8")
    assert said == reference.page(), "run `python -m scripts.reference`"


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_every_field_has_a_sentence(name):
    text, fields = reference.record_of(name, RECORDS[name])
    assert text.strip()
    bare = [one.name for one in fields if not one.meaning.rstrip().endswith(".")]
    assert not bare, f"{name}: {bare} need a docstring below them"


def test_every_option_of_authors_has_a_sentence():
    functions = dict(reference.FUNCTIONS)
    assert set(functions) == {"progressive_dag", "group_dag"}
    for name, taken in functions.items():
        bare = [one.name for one in reference.options_of(taken) if not one.meaning.endswith(".")]
        assert not bare, f"{name}: say in ABOUT of authoring/options.py what {bare} mean"


def test_every_record_that_authors_import_is_on_the_page():
    functions = {
        "ProgressiveTaskGroup", "dbt_project", "deadline_alerts", "decode_report", "encode_report",
        "expect", "group_dag", "progressive_dag", "progressive_report", "report_asset",
        "report_folder", "report_params", "warning_asset", "with_views",
    }  # fmt: skip
    assert set(airflow.__all__) - functions <= set(RECORDS)


def _codes() -> set[str]:
    """Every code that an error of the product can have: its class's, or that of one raise."""
    found = set()
    for path in modules():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                found |= {
                    one.value.value
                    for one in node.body
                    if isinstance(one, ast.Assign)
                    and [ast.unparse(target) for target in one.targets] == ["code"]
                    and isinstance(one.value, ast.Constant)
                    and isinstance(one.value.value, str)
                }
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Error"):
                found |= {
                    word.value.value
                    for word in node.keywords
                    if word.arg == "code" and isinstance(word.value, ast.Constant)
                }
    return found


def test_every_error_code_has_a_section_and_every_section_a_code():
    sections = re.findall(r"^### ([\w-]+)$", ERRORS, re.MULTILINE)
    assert len(sections) == len(set(sections))
    assert len(_codes()) > 60
    assert set(sections) == _codes()


def test_every_section_of_an_error_says_what_to_do():
    for section in re.split(r"^### ", ERRORS, flags=re.MULTILINE)[1:]:
        code, _, text = section.partition("\n")
        assert text.split("**Do:**")[0].strip(), f"{code}: what does it mean?"
        assert "**Do:**" in text, f"{code}: what is to be done?"
