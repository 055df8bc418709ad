"""Passes over relational operators: one implementation for each; an operator without one raises.

A pass is a function with one implementation per operator::

    @operator_pass("keys")
    def keys_of(node: Relation, inputs: tuple[Keys, ...]) -> Keys:
        "Keys of a node from those of its inputs."

    @keys_of.register(Sort, Limit)
    def _of_its_input(node: Relation, inputs: tuple[Keys, ...]) -> Keys: ...

There is no default: a pass that guessed for an operator it has not been told about could give wrong
rows (a key that does not hold drops a DISTINCT). CONTRIBUTING.md has the recipe for a new operator.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

from forerun.planner.algebra.node import Relation
from forerun.planner.errors import UnknownOperatorError

_P = ParamSpec("_P")
_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])

PASSES: dict[str, OperatorPass[..., Any]] = {}
"""All passes that are imported, by name."""


class OperatorPass(Generic[_P, _T]):
    """A function of a node and more, with an implementation for each type of operator."""

    def __init__(self, name: str, documented: Callable[_P, _T]) -> None:
        self.name = name
        self.__doc__ = inspect.getdoc(documented)
        self._known: dict[type[Relation], Callable[..., _T]] = {}

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        operator: Any = type(args[0])
        known = self._known.get(operator)
        if known is None:
            raise unknown_operator(self.name, operator)
        return known(*args, **kwargs)

    def register(self, *operators: type[Relation]) -> Callable[[_F], _F]:
        """Say what the pass does for these operators; each may be said once."""

        def add(implementation: _F) -> _F:
            for operator in operators:
                if operator in self._known:
                    raise ValueError(f"the pass {self.name} knows {operator.__name__} already")
                self._known[operator] = implementation
            return implementation

        return add

    def knows(self, operator: type[Relation]) -> bool:
        """Return whether the pass has an implementation for the operator."""
        return operator in self._known


def operator_pass(name: str) -> Callable[[Callable[_P, _T]], OperatorPass[_P, _T]]:
    """Make a pass of a function that only says, in its signature and docstring, what is asked of an
    operator. The name is what an error calls it."""

    def make(documented: Callable[_P, _T]) -> OperatorPass[_P, _T]:
        made = OperatorPass(name, documented)
        PASSES[name] = made
        return made

    return make


def unknown_operator(name: str, operator: type) -> UnknownOperatorError:
    """The error of a pass that has not been told about an operator."""
    return UnknownOperatorError(
        f"the pass {name} does not know the operator {operator.__name__}",
        hint=f"register {operator.__name__} with every pass; CONTRIBUTING.md has the list",
    )
