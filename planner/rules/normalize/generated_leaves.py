"""Leaves of arrays that are exploded: a generator makes the fields that are read, each a column.

::

    op(explode[e](x))  =  op'(inline[a, b](arrays_zip(x.a, x.b)))
        where op, and what is above it, reads e.a and e.b, and e nowhere else

Of a stored array of structs the files then are read for these fields alone. Spark reads all fields
of it as soon as two are read behind a generator.

Bags: ``x.a`` has an entry for each of x, and is NULL where x is, so as many rows are made. A field
of an entry that is NULL is NULL either way. Retractions: the law holds for every version of x.
Only stored columns are taken apart so: of a computed array, each field would compute it once more.
``inline`` makes no positions, so beside several fields ``posexplode`` makes an entry of all of
them, which is taken apart above it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from forerun.planner.algebra.expressions import with_scalars
from forerun.planner.algebra.nested import FIELD, array_of, element_type, struct_fields, struct_of
from forerun.planner.algebra.relational import Generate, Project, Relation, Scan, rewrite, walk
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar
from forerun.planner.algebra.type_kinds import kind_of
from forerun.planner.algebra.types import STRING, UNKNOWN, Column, ColumnId
from forerun.planner.rules.normalize.leaves import (
    add_parts,
    handing_on,
    leaf_name,
    reading_leaves,
)
from forerun.planner.rules.normalize.prune import prune_columns
from forerun.planner.rules.normalize.rule import NormalizeContext, ids_of

NAME = "ReadGeneratedLeaves"


@dataclass(frozen=True, slots=True)
class _Narrowed:
    """A generator that makes leaves: its call, its columns, and the column that stands for each
    part above it. Leaves that it makes together are fields of its last column, in order."""

    call: Call
    made: tuple[Column, ...]
    leaves: Mapping[Scalar, Column]
    together: bool = False


def read_generated_leaves(relation: Relation, context: NormalizeContext) -> Relation:
    """Have generators over stored arrays of structs make the fields that are read. The output
    columns stay as they are."""
    nodes = list(walk(relation))
    stored = {c.id for node in nodes if isinstance(node, Scan) for c in node.columns}
    taking = [node for node in nodes if isinstance(node, Generate) and _takes_fields(node, stored)]
    if not taking:
        return relation
    parts, whole = dict[Scalar, ColumnId](), set(ids_of(relation))
    for node in nodes:
        add_parts(node, parts, whole)
    by_made: dict[ColumnId, _Narrowed] = {}
    for node in taking:
        if (found := _narrowed(node, parts, whole, context)) is not None:
            by_made.update((column.id, found) for column in node.made)
    if not by_made:
        return relation
    leaves = {part: leaf for found in by_made.values() for part, leaf in found.leaves.items()}

    def with_both(node: Relation) -> Relation:
        if isinstance(node, Generate) and (found := by_made.get(node.made[0].id)):
            new = found.leaves.values() if found.together else found.made
            return replace(node, made=tuple(dict.fromkeys((*node.made, *new))))
        node = with_scalars(node, lambda scalar: reading_leaves(scalar, leaves))
        return handing_on(node, leaves) if isinstance(node, Project) else node

    def with_leaves_alone(node: Relation) -> Relation:
        if isinstance(node, Generate) and (found := by_made.get(node.made[0].id)):
            made = replace(node, call=found.call, made=found.made)
            return _taken_apart(made, found) if found.together else made
        return node

    # What is made of whole elements is there until nothing above reads it: a reader that was
    # overlooked is an error.
    return rewrite(prune_columns(rewrite(relation, with_both)), with_leaves_alone)


def _takes_fields(node: Generate, stored: AbstractSet[ColumnId]) -> bool:
    """Return whether a generator takes a stored array of structs apart."""
    if node.call.name not in ("explode", "posexplode", "inline"):
        return False
    taken = node.call.args[0]
    fields = struct_fields(element_type(taken.type))
    while isinstance(taken, Call) and taken.name == FIELD and kind_of(taken.args[0].type) == "r":
        taken = taken.args[0]
    return bool(fields) and isinstance(taken, Ref) and taken.column.id in stored


def _narrowed(
    node: Generate, parts: Mapping[Scalar, ColumnId], whole: Container[ColumnId],
    context: NormalizeContext,
) -> _Narrowed | None:  # fmt: skip
    """Return a generator of what is read of its elements; None where all of it is."""
    fields, name = _fields(node), node.call.name
    paths = _read(node, fields, parts, whole)
    if not paths or not all(path.type.is_known for path in paths):
        return None
    made = [
        path.column if isinstance(path, Ref) else context.fresh(leaf_name(path), path.type)
        for path in paths
    ]
    arrays = tuple(_array(path, fields) for path in paths)
    if len(arrays) == 1:
        call = Call("explode" if name == "inline" else name, arrays, UNKNOWN)
    else:
        numbered = [(str(number), path.type) for number, path in enumerate(paths)]
        zipped = Call("arrays_zip", arrays, array_of(struct_of(numbered)))
        call = Call("inline", (zipped,), UNKNOWN)
    places = node.made[:-1] if name == "posexplode" else ()
    leaves = dict(zip(paths, made, strict=True))
    if places and len(arrays) > 1:
        entry = struct_of([(f"leaf_{number}", path.type) for number, path in enumerate(paths)])
        named = Call("cast", (zipped,), array_of(entry))  # which says how Spark calls the fields
        column = context.fresh("entry", entry)
        return _Narrowed(Call(name, (named,), UNKNOWN), (*places, column), leaves, together=True)
    return _Narrowed(call, (*places, *made), leaves)


def _taken_apart(node: Generate, found: _Narrowed) -> Project:
    """Return a generator whose last column is an entry of all leaves, and each as a column."""
    *kept, entry = node.columns
    fields = struct_fields(entry.type)
    items = [
        (leaf, Call(FIELD, (Ref(entry), Literal(name, STRING)), type_))
        for leaf, (name, type_) in zip(found.leaves.values(), fields, strict=True)
    ]
    return Project(node, (*((column, Ref(column)) for column in kept), *items))


def _read(
    node: Generate, fields: Mapping[Scalar, Scalar], parts: Mapping[Scalar, ColumnId],
    whole: Container[ColumnId],
) -> list[Scalar]:  # fmt: skip
    """Return what is read of the elements, none of it a part of another one, or the narrowest field
    if nothing is; nothing if all of it is."""
    made = node.made if node.call.name == "inline" else node.made[-1:]
    elements = {column.id for column in made}
    read: set[Scalar] = {Ref(column) for column in made if column.id in whole}
    read |= {_as_fields(part) for part, column in parts.items() if column in elements}
    if fields.keys() <= read or any(isinstance(path, Ref) for path in read - fields.keys()):
        return []
    apart = [path for path in sorted(read, key=str) if read.isdisjoint(_around(path))]
    return apart or [min(fields, key=lambda path: path.type.width)]


def _fields(node: Generate) -> dict[Scalar, Scalar]:
    """Return the arrays of the fields of the elements, by the fields as they are read above the
    generator: as columns of their own, or as parts of the last column."""
    taken = node.call.args[0]
    found: dict[Scalar, Scalar] = {}
    for place, (name, type_) in enumerate(struct_fields(element_type(taken.type))):
        step = Literal(name, STRING)
        by_itself = node.call.name == "inline"
        read = (
            Ref(node.made[place]) if by_itself else Call(FIELD, (Ref(node.made[-1]), step), type_)
        )
        found[read] = Call(FIELD, (taken, step), array_of(type_))
    return found


def _array(path: Scalar, fields: Mapping[Scalar, Scalar]) -> Scalar:
    """Return the array of a field of the elements, or of a field of that."""
    if path in fields or not isinstance(path, Call):
        return fields[path]
    inner, name = path.args
    return Call(FIELD, (_array(inner, fields), name), array_of(path.type))


def _as_fields(part: Scalar) -> Scalar:
    """Return the innermost part of a part that is taken by fields of structs alone."""
    if not isinstance(part, Call):
        return part
    inner = part.args[0]
    found = _as_fields(inner)
    by_field = part.name == FIELD and kind_of(inner.type) == "r"
    return part if found == inner and by_field else found


def _around(path: Scalar) -> Iterator[Scalar]:
    """Yield what a field is a part of, from the inside to the column."""
    while isinstance(path, Call):
        path = path.args[0]
        yield path
