"""Names, keys and bucket counts of what is kept."""

from __future__ import annotations

import math

from planner.algebra.describe import column_list, words_of
from planner.algebra.fingerprint import fingerprint
from planner.algebra.types import BIGINT, Column
from planner.contract.plan_v1 import WEIGHT_COLUMN, ColumnSpec, Family
from planner.request import PlanRequest
from planner.temporal.annotate import Operator
from planner.temporal.sizes import Sizes
from planner.tvr.signed import ColumnIds

_BUCKET_BYTES = 24 << 20
_MOST_BUCKETS = 1024
_FORMAT = "families-1"


class Families:
    """Families of one plan, by what they hold.

    A family that a committed run wrote is taken as it is stored: its bucket count and the names of
    its columns are frozen for the day, whatever would be chosen today.
    """

    def __init__(self, root: Operator, sizes: Sizes, request: PlanRequest, ids: ColumnIds) -> None:
        self.sizes = sizes
        self._request = request
        self._ids = ids
        self._words = words_of(root.relation)
        self._last = len(request.points)
        chains = [{f.fingerprint: f for f in run.families} for run in request.committed]
        self._stored = {
            key: family
            for key, family in (chains[-1] if chains else {}).items()
            if all(key in chain for chain in chains)
        }
        self._layouts: dict[int, tuple[Column, ...]] = {}

    def is_available(self, operator: Operator, key: tuple[Column, ...]) -> bool:
        """Whether this output can be kept from here on without a gap."""
        if not self._request.committed:
            return True
        return self.fingerprint(operator, key) in self._stored

    def fingerprint(self, operator: Operator, key: tuple[Column, ...]) -> str:
        """Expression, key, kind, format, and what Spark's answer depends on."""
        relation = operator.relation
        positions = [i for i, c in enumerate(relation.columns) for k in key if k.id == c.id]
        order = [k.id for k in key]
        order_text = ",".join(str(order.index(relation.columns[i].id)) for i in positions)
        kind = operator.rule.name if operator.rule is not None and operator.view else "rows"
        session = [f"{name}={value}" for name, value in self._request.settings.session]
        return fingerprint(relation, _FORMAT, kind, f"{positions}/{order_text}", *session)

    def layout(self, operator: Operator) -> tuple[Column, ...]:
        """Columns that are kept of an output, without the weight."""
        view = operator.view
        if view is None:
            return operator.relation.columns
        if operator.index not in self._layouts:
            signed = operator.inputs[0].signed
            self._layouts[operator.index] = view.columns(operator.relation, signed, self._ids)
        return self._layouts[operator.index]

    def is_signed(self, operator: Operator) -> bool:
        return operator.signed and operator.view is None

    def family(self, operator: Operator, key: tuple[Column, ...]) -> Family:
        digest = self.fingerprint(operator, key)
        if digest in self._stored:
            return self._stored[digest]
        columns = self.layout(operator)
        specs = [
            ColumnSpec(name=f"{column.name}_{position}", type=column.type.sql)
            for position, column in enumerate(columns)
        ]
        names = {column.id: spec.name for column, spec in zip(columns, specs, strict=True)}
        signed = self.is_signed(operator)
        if signed:
            specs.append(ColumnSpec(name=WEIGHT_COLUMN, type=BIGINT.sql, nullable=False))
        return Family(
            id=f"f_{digest[:12]}",
            kind="shuffle" if key and operator.view is None else "state",
            fingerprint=digest,
            title=self._title(operator, key),
            columns=tuple(specs),
            key=tuple(names[column.id] for column in key),
            buckets=self._buckets(operator) if key else 0,
            signed=signed,
        )

    def _title(self, operator: Operator, key: tuple[Column, ...]) -> str:
        """What is kept, for people; not an identity."""
        what = self._words.of(operator.relation)
        if operator.view is not None:
            return f"states of {what}"
        return f"{what} by {column_list(key)}" if key else what

    def _buckets(self, operator: Operator) -> int:
        """A power of two from the forecast of the whole day, at least 4."""
        if self._request.settings.buckets:
            return self._request.settings.buckets
        size = self.sizes.snapshot(operator, self._last)
        wanted = max(4.0, size.bytes / _BUCKET_BYTES)
        return int(min(_MOST_BUCKETS, 2 ** math.ceil(math.log2(wanted))))
