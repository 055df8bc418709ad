"""What the JSON schema of OpenLineage 2-0-2, with the facets that we send, requires of an event."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

_URI = {"type": "string", "pattern": "^[a-z][a-z0-9+.-]*:[^ ]+$"}
_TEXT = {"type": "string"}
_COUNT = {"type": "integer"}


def _object(required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required.split(), "properties": properties}


def _many(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of}


def _facet(required: str = "", **properties: Any) -> dict[str, Any]:
    known = {"_producer": _URI, "_schemaURL": _URI, **properties}
    return _object(f"_producer _schemaURL {required}", **known)


def _facets(**known: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": known, "additionalProperties": _facet()}


_INPUT_FIELD = _object(
    "namespace name field",
    namespace=_TEXT,
    name=_TEXT,
    field=_TEXT,
    transformations=_many(_object("type", type=_TEXT)),
)
_COLUMN = _object("inputFields", inputFields=_many(_INPUT_FIELD))
_DATASET = _object(
    "namespace name",
    namespace=_TEXT,
    name=_TEXT,
    facets=_facets(
        schema=_facet(fields=_many(_object("name", name=_TEXT))),
        columnLineage=_facet(
            "fields",
            fields={"type": "object", "additionalProperties": _COLUMN},
            dataset=_many(_INPUT_FIELD),
        ),
        version=_facet("datasetVersion", datasetVersion=_TEXT),
    ),
    outputFacets=_facets(outputStatistics=_facet(rowCount=_COUNT, size=_COUNT, fileCount=_COUNT)),
)
_ERROR = _facet("message programmingLanguage", message=_TEXT, programmingLanguage=_TEXT)
_STATES = ["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"]
EVENT = Draft202012Validator(
    _object(
        "eventType eventTime producer schemaURL run job",
        eventType={"enum": _STATES},
        eventTime={"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$"},
        producer=_URI,
        schemaURL={"const": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"},
        run=_object("runId", runId=_TEXT, facets=_facets(errorMessage=_ERROR)),
        job=_object("namespace name", namespace=_TEXT, name=_TEXT, facets=_facets()),
        inputs=_many(_DATASET),
        outputs=_many(_DATASET),
    )
)
