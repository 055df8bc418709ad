"""Reports from the manifest of a dbt project: JSON alone is read, dbt itself is not needed.

A model with ``meta.forerun`` is a report: its compiled SQL, and the fields of the report in
``meta.forerun``. Views are put into the text, as dbt has put ephemeral models into it already. What
else a model reads is a source: a source of dbt, or a model that is a table, which says in its own
``meta.forerun`` where its files lie; a model that is a report is read where it is published, on its
asset's event. Types, keys and foreign keys come from columns, constraints and tests, and tests of a
report's columns are its expectations.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from forerun.include.reports.asset_keys import report_key
from forerun.include.reports.dbt.tests import (
    Node,
    condition_of,
    constraints_of,
    expectation_of,
    is_error,
    kind_of,
)
from forerun.include.reports.declared import read_declared
from forerun.include.reports.expectations import Expectation
from forerun.include.reports.front_matter import ReportFile, build_report
from forerun.include.reports.sources.source_formats import RESULTS
from forerun.include.reports.spec import PartitionFolder, ReportSpec
from forerun.include.reports.values.fields import SpecError
from forerun.include.reports.views import SharedView, with_views
from forerun.planner.contract.plan_v1 import ForeignKey

VERSION = "v12"
"""The version of the manifest that is read: that of dbt 1.8 to 1.12."""
_SCHEMA = re.compile(r"dbt/manifest/(v\d+)\.json\Z")
_ADAPTERS = ("spark", "databricks")
_OURS = "forerun"
_OPTIONS = "dag"
_KINDS = {"incremental", "table", "view", "ephemeral"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class DbtReport:
    """A report of a dbt project. ``left_out`` says which of its tests are not carried over."""

    file: ReportFile
    left_out: tuple[str, ...]


def read_manifest_reports(
    path: Path, allowed: Iterable[str] = ()
) -> dict[str, DbtReport | SpecError]:
    """Read the reports of a manifest, by name: of a model that cannot be one, what is wrong with
    it. ``allowed`` are the functions that the deployment allows.

    Raises :class:`SpecError` for a file that is no manifest of the version that is read, and for
    one without a model that has ``meta.forerun``.
    """
    manifest = _Manifest(path, _read(path))
    found: dict[str, DbtReport | SpecError] = {}
    for unique_id in manifest.reports:
        name = str(manifest.nodes[unique_id]["name"])
        try:
            found[name] = _Reader(manifest, frozenset(allowed)).report(unique_id)
        except SpecError as error:
            found[name] = error
    if not found:
        raise SpecError(
            f"{path}: no model has meta.{_OURS}",
            hint=f"Give the models that are to be reports meta: {{{_OURS}: {{policy: ...}}}}.",
        )
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SpecError(
            f"{path} cannot be read as a manifest of dbt: {error}",
            hint="Name the manifest.json that `dbt compile` writes into target/.",
        ) from None
    metadata = raw.get("metadata", {}) if isinstance(raw, dict) else {}
    said = _SCHEMA.search(str(metadata.get("dbt_schema_version", "")))
    version = said[1] if said else "no version"
    if version != VERSION:
        raise SpecError(
            f"{path} is a manifest of {version} (dbt {metadata.get('dbt_version', 'unknown')}), "
            f"and {VERSION} is read",
            hint="dbt 1.8 to 1.12 write it. Newer ones may mean other things by the same fields.",
        )
    if metadata.get("adapter_type") not in _ADAPTERS:
        raise SpecError(
            f"{path} was compiled for {metadata.get('adapter_type')}, and its SQL with it",
            hint=f"Compile it for {' or '.join(_ADAPTERS)}.",
        )
    return dict(raw)


class _Manifest:
    """The nodes of a manifest and their tests, by unique id."""

    def __init__(self, path: Path, raw: Mapping[str, Any]) -> None:
        self.path = path
        self.nodes: dict[str, Node] = {**raw["nodes"], **raw["sources"]}
        self.tests: dict[str, list[Node]] = {}
        for node in raw["nodes"].values():
            if node["resource_type"] == "test":
                on = node.get("attached_node") or self._tested(node)
                self.tests.setdefault(on, []).append(node)

    @staticmethod
    def _tested(test: Node) -> str:
        """The source that a test is of: dbt says it in the model of the test alone."""
        named = re.findall(
            r"'([^']*)'", str(test.get("test_metadata", {}).get("kwargs", {}).get("model"))
        )
        tail = ".".join(named[-2:])
        return next((one for one in test["depends_on"]["nodes"] if one.endswith(f".{tail}")), "")

    @property
    def reports(self) -> list[str]:
        """The models that are reports, those after which others come first."""
        return [
            unique_id
            for unique_id, node in self.nodes.items()
            if node["resource_type"] == "model" and "policy" in (self.ours(node) or {})
        ]

    @staticmethod
    def ours(node: Node) -> dict[str, Any] | None:
        """Return what ``meta.forerun`` of a model or a source says; None where it has none."""
        meta = {**node.get("meta", {}), **node.get("config", {}).get("meta", {})}
        return meta.get(_OURS)

    def where(self, node: Node) -> str:
        return f"{self.path}, {node['resource_type']} {node['name']}"

    def text(self, node: Node) -> str:
        """The compiled SQL of a model."""
        compiled = node.get("compiled_code")
        if not compiled:
            raise SpecError(
                f"{self.where(node)} has no compiled SQL",
                hint="Run `dbt compile --no-introspect --no-populate-cache`; of incremental models "
                "the project needs a macro is_incremental() that returns false: Forerun makes the "
                "whole query incremental itself.",
            )
        return str(compiled)


class _Reader:
    """Makes reports of one manifest."""

    def __init__(self, manifest: _Manifest, allowed: frozenset[str]) -> None:
        self._manifest, self._allowed = manifest, allowed
        self._left_out: list[str] = []

    def report(self, unique_id: str) -> DbtReport:
        """Make the report of a model."""
        manifest = self._manifest
        node = manifest.nodes[unique_id]
        views, tables = self._read_by(node)
        names = self._names([*views, *tables])
        given = dict(manifest.ours(node) or {})
        options = given.pop(_OPTIONS, None) or {}
        if unknown := {"sql", "sql_file", "sources"} & set(given):
            raise SpecError(
                f"{manifest.where(node)}: meta.{_OURS} has {min(unknown)}, which the project says",
                hint="Say where sources lie in meta.forerun of the sources.",
            )
        given.setdefault("name", node["name"])
        about = str(node.get("description") or "").partition("\n")[0]
        given.setdefault("description", about)
        given["sources"] = [self._source(one, names[one], names) for one in tables]
        given["sql"] = manifest.text(node)
        spec = build_report(given, manifest.where(node))
        texts = [SharedView(names[one], self._plain(manifest.nodes[one], names),
                      manifest.where(manifest.nodes[one])) for one in views]  # fmt: skip
        spec = with_views(spec.with_sql(self._plain(node, names)), texts, self._allowed)
        types = self._types(spec)
        spec = replace(spec, expectations=(*spec.expectations, *self._checks(node, types)))
        return DbtReport(ReportFile(spec, options), tuple(self._left_out))

    def _types(self, spec: ReportSpec) -> dict[str, str]:
        query = read_declared(spec, spec.sql, self._allowed)
        return {
            name.lower(): column.type.sql
            for name, column in zip(query.names, query.relation.columns, strict=True)
        }

    def _read_by(self, node: Node) -> tuple[list[str], list[str]]:
        """The views and the tables that a model reads, by itself or through views."""
        views: list[str] = []
        tables: list[str] = []
        todo = list(node["depends_on"]["nodes"])
        while todo:
            one = todo.pop(0)
            found = self._manifest.nodes.get(one)
            if found is None or one in views or one in tables:
                continue
            kind = found.get("config", {}).get("materialized", "source")
            if found["resource_type"] == "model" and kind not in _KINDS:
                raise SpecError(
                    f"{self._manifest.where(found)} is materialized as {kind}",
                    hint=f"What is read is one of {', '.join(sorted(_KINDS))}.",
                )
            if kind in ("view", "ephemeral"):
                todo += found["depends_on"]["nodes"]
                if kind == "view":
                    views.append(one)
                continue
            tables.append(one)
        return views, tables

    def _names(self, used: Iterable[str]) -> dict[str, str]:
        """A plain name for each relation: its own, or with its schema where two have one."""
        nodes = {one: self._manifest.nodes[one] for one in used}
        own = {one: str(node.get("identifier") or node["alias"]) for one, node in nodes.items()}
        often = Counter(name.lower() for name in own.values())
        return {
            one: re.sub(r"\W", "_", f"{nodes[one]['schema']}_{name}", flags=re.ASCII)
            if often[name.lower()] > 1 or not _NAME.match(name)
            else name
            for one, name in own.items()
        }

    def _plain(self, node: Node, names: Mapping[str, str]) -> str:
        """The text of a model with plain names of what it reads."""
        from forerun.planner.errors import SqlError
        from forerun.planner.sql.syntax.views import with_plain_names

        relations = {self._relation(one): name for one, name in names.items()}
        text = self._manifest.text(node)
        try:
            return with_plain_names(text, relations)
        except SqlError as error:
            raise SpecError(
                f"{self._manifest.where(node)}: {error.message}", hint=error.hint
            ) from None

    def _relation(self, unique_id: str) -> str:
        said = self._manifest.nodes[unique_id].get("relation_name") or ""
        return re.sub(r"[`\s]", "", said.lower())

    # -- sources -----------------------------------------------------------------------------

    def _source(self, unique_id: str, name: str, names: Mapping[str, str]) -> dict[str, Any]:
        manifest = self._manifest
        node = manifest.nodes[unique_id]
        ours = dict(manifest.ours(node) or {})
        if "policy" in ours:  # whose own expectations hold before anybody reads it
            ours = {"expectations": [], **self._published(node, ours)}
        if "path" not in ours:
            raise SpecError(
                f"{manifest.where(node)} does not say where its files lie",
                hint=f"Give it meta: {{{_OURS}: {{path: ..., complete_when: ...}}}}, or make it a "
                "report with a policy.",
            )
        ours.setdefault("columns", self._columns(node))
        ours.setdefault("key", list(self._key(node)))
        kept = {"name": name, **ours}
        foreign = self._foreign_keys(unique_id, names)
        if foreign and kept.get("change") != "changelog":  # whose rows may go
            kept.setdefault("foreign_keys", foreign)
        types = {name.lower(): str(kind) for name, kind in dict(ours["columns"]).items()}
        if "expectations" not in kept:
            kept["expectations"] = list(self._checks(node, types))
        return kept

    def _published(self, node: Node, ours: Mapping[str, Any]) -> dict[str, Any]:
        """A report as another one reads it: its partition of the day, on its asset's event, if it
        has a folder; else what it publishes into the store, early results too."""
        sink = ours.get("sink")
        folder = sink.get(PartitionFolder.__name__) if isinstance(sink, Mapping) else None
        made = _Reader(self._manifest, self._allowed).report(str(node["unique_id"])).file.spec
        types = self._types(made)
        query = read_declared(made, made.sql, self._allowed)
        uri = report_key(made.name).uri
        found: dict[str, Any] = {"columns": {name: types[name.lower()] for name in query.names}}
        if not folder:
            return {"path": f"{uri}/{{ds}}", "format": RESULTS, "change": "changelog", **found}
        return {
            "path": f"{folder['path'].rstrip('/')}/{folder.get('column', 'ds')}={{ds}}",
            "complete_when": {"AssetEvent": {"uri": uri}},
            **found,
        }

    def _columns(self, node: Node) -> dict[str, str]:
        if not node["columns"]:
            raise SpecError(
                f"{self._manifest.where(node)} declares no columns",
                hint="List them with their data_type, as Spark reads the files.",
            )
        found = {}
        for name, column in node["columns"].items():
            if not column.get("data_type"):
                raise SpecError(
                    f"{self._manifest.where(node)}: column {name} has no data_type",
                    hint="Write the type that Spark reads, such as bigint or decimal(12,2).",
                )
            required = name in self._key(node) or "not_null" in constraints_of(column)
            kind = (
                str(column["data_type"]).upper()
                if "<" not in column["data_type"]
                else column["data_type"]
            )
            found[name] = f"{kind} NOT NULL" if required else str(kind)
        return found

    def _key(self, node: Node) -> tuple[str, ...]:
        """The primary key by constraints, else a column whose tests say that it is unique and
        never NULL."""
        for constraint in node.get("constraints") or ():
            if constraint.get("type") == "primary_key" and constraint.get("columns"):
                return tuple(constraint["columns"])
        by_column = [n for n, c in node["columns"].items() if "primary_key" in constraints_of(c)]
        if by_column:
            return tuple(by_column)
        tested = self._tested(node)
        both = [
            name for name in node["columns"] if tested.get(name, set()) >= {"unique", "not_null"}
        ]
        return tuple(both[:1])

    def _tested(self, node: Node) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for test in self._manifest.tests.get(node["unique_id"], ()):
            if is_error(test) and not condition_of(test):
                name = str(test.get("column_name"))
                found.setdefault(name, set()).add(kind_of(test))
        return found

    def _foreign_keys(self, unique_id: str, names: Mapping[str, str]) -> list[ForeignKey]:
        """Foreign keys by tests of relationships with another table that the report reads, and that
        is there before the first run: of others it is not known that their rows come first."""
        found = []
        for test in self._manifest.tests.get(unique_id, ()):
            if kind_of(test) != "relationships" or not is_error(test) or condition_of(test):
                continue
            parents = [
                one for one in test["depends_on"]["nodes"] if one != unique_id and one in names
            ]
            parents = [one for one in parents if self._is_static(one)]
            if len(parents) == 1:
                kwargs = test["test_metadata"]["kwargs"]
                own, other = (str(test["column_name"]),), (str(kwargs["field"]),)
                parent = names[parents[0]]
                found.append(ForeignKey(columns=own, parent=parent, parent_columns=other))
        return found

    def _is_static(self, unique_id: str) -> bool:
        ours = self._manifest.ours(self._manifest.nodes[unique_id]) or {}
        return ours.get("arrival") == "static"

    # -- tests -------------------------------------------------------------------------------

    def _checks(self, node: Node, types: Mapping[str, str]) -> Iterator[Expectation]:
        """The tests of a model or source as expectations; what has none is noted."""
        for test in self._manifest.tests.get(node["unique_id"], ()):
            one = None if condition_of(test) else expectation_of(test, types)
            if one is not None:
                yield one
            elif not (
                node["resource_type"] == "source" and kind_of(test) in ("relationships", "unique")
            ):
                why = (
                    "it has a condition"
                    if condition_of(test)
                    else f"{kind_of(test) or 'SQL'} has none"
                )
                self._left_out.append(f"test {test['name']} is no expectation: {why}")
