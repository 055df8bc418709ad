"""What Airflow is told of the provider: its own schema takes it, and what it names is there."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from importlib import resources
from typing import Any

import jsonschema
import pytest

from forerun.include.machine.options import OPTIONS
from forerun.planner.version import VERSION
from forerun.provider_info import get_provider_info

INFO = get_provider_info()


def _named(found: Any) -> list[str]:
    """The dotted names in the record."""
    if isinstance(found, dict):
        return [name for value in found.values() for name in _named(value)]
    if isinstance(found, list):
        return [name for value in found for name in _named(value)]
    return [found] if str(found).startswith("forerun.") else []


def test_the_schema_of_airflow_takes_it() -> None:
    schema = json.loads((resources.files("airflow") / "provider_info.schema.json").read_text())
    jsonschema.validate(INFO, schema)
    known = schema["properties"]
    # The key that Airflow adds when it reads it; others it would ignore without a word.
    assert set(INFO) - set(known) == {"versions"}
    assert INFO["versions"] == [VERSION]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**INFO, "asset-uris": [{"handler": "x"}]}, schema)


@pytest.mark.airflow
@pytest.mark.parametrize("name", _named(INFO))
def test_what_it_names_is_there(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        assert callable(getattr(importlib.import_module(module), attribute))


def test_reading_it_imports_no_airflow_and_next_to_nothing() -> None:
    """Airflow reads it while its own configuration is being imported."""
    code = (
        "import sys; before = set(sys.modules); import forerun.provider_info as p;"
        "p.get_provider_info(); print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "forerun.provider_info" in done
    tops = {name.partition(".")[0] for name in done}
    assert tops & {"airflow", "sqlglot", "pyspark", "boto3", "pyarrow"} == set()
    assert len([name for name in done if name.startswith("forerun")]) < 12


def test_the_section_has_every_option_once() -> None:
    section = INFO["config"]["forerun"]["options"]
    assert list(section) == [one.name for one in OPTIONS]
    assert len({one.variable for one in OPTIONS}) == len(OPTIONS)
