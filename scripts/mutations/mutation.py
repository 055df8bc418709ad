"""One break of the code on purpose, for :mod:`scripts.mutate`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutation:
    """One break: the text ``old``, which occurs exactly once in the file ``path``, is replaced by
    ``new``. ``suite`` has the arguments of the pytest run that must fail then; if it is empty, one
    of :data:`scripts.mutate.SUITES` must fail."""

    name: str
    path: str
    old: str
    new: str
    suite: tuple[str, ...] = ()
