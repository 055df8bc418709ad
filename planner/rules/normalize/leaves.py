"""Leaves of nested columns: above its filters, a scan hands on the parts that are read.

::

    op(filter(R(s)))  =  op(project[s.a as l](filter(R)))
        where op, and what is above it, reads s.a, and s nowhere else

What runs keep of a table, and what they shuffle, is then as narrow as what is read: a field of a
struct, of the structs of an array, the value of one key of a map. Such parts never fail, and are
NULL where the value is. A value that is read whole anywhere above stays whole. Files are read for
the leaves alone, too, which :func:`with_read_widths` tells the estimates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from forerun.planner.algebra.expressions import scalars_of, with_scalars
from forerun.planner.algebra.nested import ELEMENT, FIELD, element_type, map_types, struct_fields
from forerun.planner.algebra.relational import Filter, Project, Relation, Scan, rewrite, walk
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar, references
from forerun.planner.algebra.type_kinds import is_nested, kind_of
from forerun.planner.algebra.types import Column, ColumnId, DataType
from forerun.planner.request import Source
from forerun.planner.rules.normalize.prune import read_by
from forerun.planner.rules.normalize.rule import NormalizeContext, ids_of
from forerun.planner.rules.normalize.safety import can_fail
from forerun.planner.stats.fan_out import FAN_OUT

_Leaves = dict[Scalar, Column]


def read_leaves(relation: Relation, context: NormalizeContext) -> Relation:
    """Project the parts of nested columns that are read over the filtered scans, and read these.
    The output columns stay as they are, and so does every other column of a scan."""
    scans = (node for node in walk(relation) if isinstance(node, Scan))
    nested = {c.id for scan in scans for c in scan.columns if is_nested(c.type)}
    if not nested:
        return relation
    parts, whole = dict[Scalar, ColumnId](), set(ids_of(relation))
    for node in walk(relation):
        if not _is_filtered_scan(node):
            add_parts(node, parts, whole)
    leaves: _Leaves = {
        part: context.fresh(leaf_name(part), part.type)
        for part, column in parts.items()
        if column in nested - whole
    }
    if not leaves:
        return relation

    def at_node(node: Relation) -> Relation:
        if _is_filtered_scan(node):
            return node
        if isinstance(node, Project) and _is_filtered_scan(node.input):
            return handing_on(node, leaves, computed=True)
        inputs = tuple(_with_leaves(one, leaves) for one in node.inputs)
        changed = with_scalars(node.with_inputs(inputs), lambda one: reading_leaves(one, leaves))
        return handing_on(changed, leaves) if isinstance(changed, Project) else changed

    return rewrite(relation, at_node)


def _is_filtered_scan(node: Relation) -> bool:
    while isinstance(node, Filter):
        node = node.input
    return isinstance(node, Scan)


def add_parts(node: Relation, parts: dict[Scalar, ColumnId], whole: set[ColumnId]) -> None:
    """Add the parts of columns that an operator reads, and the columns that it reads whole."""
    read = read_by(node)
    if read is None:
        whole.update(*(ids_of(one) for one in node.inputs))
        return
    waiting = list(scalars_of(node))
    whole |= read.difference(*map(references, waiting))
    if isinstance(node, Project):
        waiting = [scalar for column, scalar in node.items if scalar != Ref(column)]
    while waiting:
        scalar = waiting.pop()
        column = _column_of(scalar)
        if column is not None:
            parts[scalar] = column
        elif isinstance(scalar, Ref):
            whole.add(scalar.column.id)
        elif isinstance(scalar, Call):
            waiting += scalar.args


def _column_of(part: Scalar) -> ColumnId | None:
    """The column that a scalar is a part of, by fields and keys; None if it is no such part, or one
    that it may fail to find."""
    while isinstance(part, Call) and part.name in (FIELD, ELEMENT) and not can_fail(part):
        part, step = part.args
        if not isinstance(step, Literal):
            return None
        if isinstance(part, Ref):
            return part.column.id
    return None


def leaf_name(part: Scalar) -> str:
    """Return a name for a part: that of its column and the steps to it."""
    steps = []
    while isinstance(part, Call):
        part, step = part.args
        steps.append(str(step.text) if isinstance(step, Literal) else "")
    column = part.column.name if isinstance(part, Ref) else ""
    return "_".join((column, *reversed(steps)))


def _with_leaves(node: Relation, leaves: _Leaves) -> Relation:
    """A filtered scan, with the leaves of its columns beside them."""
    if not _is_filtered_scan(node):
        return node
    all_of_it = Project(node, tuple((column, Ref(column)) for column in node.columns))
    found = handing_on(all_of_it, leaves, computed=True)
    return node if found is all_of_it else found


def handing_on(
    node: Project, leaves: Mapping[Scalar, Column], *, computed: bool = False
) -> Project:
    """Return a projection that hands on the leaves of columns that it hands on; ``computed``: over
    a scan, which does not have them yet."""
    names = {column.id for column, scalar in node.items if scalar == Ref(column)}
    mine = tuple(
        (leaf, part if computed else Ref(leaf))
        for part, leaf in leaves.items()
        if _column_of(part) in names
    )
    return Project(node.input, (*node.items, *mine)) if mine else node


def reading_leaves(scalar: Scalar, leaves: Mapping[Scalar, Column]) -> Scalar:
    """Return a scalar that reads the columns of leaves in place of the parts that they are."""
    if leaf := leaves.get(scalar):
        return Ref(leaf)
    if not isinstance(scalar, Call):
        return scalar
    args = tuple(reading_leaves(arg, leaves) for arg in scalar.args)
    return scalar if args == scalar.args else Call(scalar.name, args, scalar.type)


def with_read_widths(
    relation: Relation, text: Relation, sources: Iterable[Source]
) -> tuple[Source, ...]:
    """Return the sources with nested columns as wide as what a normalized query reads of them, and
    with what the user's own ``text`` reads beside: of Parquet files Spark reads the leaves that are
    read, and no others, but all of an array of which several are read behind a generator."""
    scans = [node for node in walk(relation) if isinstance(node, Scan)]
    nested = {scan.source for scan in scans if any(map(_is_nested, scan.scanned))}
    if not nested:
        return tuple(sources)
    read, by_text = (_shares(one) for one in (relation, text))
    found = []
    for source in sources:
        stats, beside = [], 0.0
        for name, known in source.stats:
            share, leaves = read.get((source.name, name), (1.0, 0))
            if leaves > 1:
                beside += known.width * (by_text.get((source.name, name), (share, 0))[0] - share)
            stats.append((name, replace(known, width=known.width * share)))
        is_here = source.name in nested
        found.append(replace(source, stats=tuple(stats), beside=beside) if is_here else source)
    return tuple(found)


def _shares(relation: Relation) -> dict[tuple[str, str], tuple[float, int]]:
    """Return which part of the bytes of each nested column of a source is read, by their types, and
    how many leaves."""
    parts, whole = dict[Scalar, ColumnId](), set(ids_of(relation))
    for node in walk(relation):
        add_parts(node, parts, whole)
    read: dict[ColumnId, set[tuple[str, ...]]] = {}
    for part, column in parts.items():
        read.setdefault(column, set()).add(_fields_to(part))
    shares: dict[tuple[str, str], tuple[float, int]] = {}
    for scan in walk(relation):
        if not isinstance(scan, Scan):
            continue
        for one in filter(_is_nested, scan.scanned):
            paths = {()} if one.id in whole else read.get(one.id, {()})
            share = _bytes(one.type, paths) / (_bytes(one.type, {()}) or 1.0)
            named = scan.source, one.name
            shares[named] = max((share, len(paths)), shares.get(named, (0.0, 0)))
    return shares


def _is_nested(column: Column) -> bool:
    return is_nested(column.type)


def _fields_to(part: Scalar) -> tuple[str, ...]:
    """Return the names of the fields that lead to a part."""
    names: list[str] = []
    while isinstance(part, Call):
        if part.name == FIELD and isinstance(name := part.args[1], Literal):
            names.append(str(name.text))
        part = part.args[0]
    return tuple(reversed(names))


def _bytes(type_: DataType, paths: AbstractSet[tuple[str, ...]]) -> float:
    """Return the bytes of what these fields lead to in a value, by its type; a map is read whole,
    its keys and its values to the end."""
    kind = kind_of(type_)
    if kind == "a":
        return FAN_OUT * _bytes(element_type(type_), paths)
    if kind == "r":
        return sum(
            _bytes(field, {()} if () in paths else below)
            for name, field in struct_fields(type_)
            if (below := {path[1:] for path in paths if path[:1] in ((), (name,))})
        )
    if kind == "p":
        return FAN_OUT * sum(_bytes(one, {()}) for one in map_types(type_))
    return float(type_.width)
