"""The flaws of an engine: what it does otherwise than Spark, for which stages are written.

The user's own text stays as it is, but for quotients: what the engine does otherwise there, its
record of gaps names (:mod:`forerun.include.verify.sail_gaps`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

Flaw = Literal["copies", "casts", "fields", "frequencies", "quotients", "types"]
"""``copies``: copies of a row that was grouped are taken for unique rows
(:mod:`forerun.planner.stages.flawed`). ``casts``: an aggregate cannot tell a call of a column from
one of the column cast to another type. ``fields``: no field is taken of an array of structs.
``frequencies``: a percentile takes no notice of how often its values come.
``quotients``: a quotient of DECIMALs is cut off four digits after those of its dividend, and
quotients fail by a divisor of zero where Spark does not come to compute them
(:mod:`forerun.planner.exact.quotients`). ``types``: columns of a result may be of
another type than Spark gives them, so the plan names Spark's."""

LEFT_OUT: Mapping[Flaw, str] = MappingProxyType({
    "fields": "ReadGeneratedLeaves", "frequencies": "CountedValues",
})  # fmt: skip
"""The rules whose results an engine with a flaw does not compute."""
