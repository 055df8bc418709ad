"""Breaks of what checks the declarations and the files of sources."""

from __future__ import annotations

from scripts.mutations.mutation import Mutation

_DECLARED = "tests/spark/test_declarations.py"
DECLARATIONS = (
    Mutation(
        "declarations: no run checks them", "spark_jobs/executor.py",
        "    check_declarations(work)\n", "", suite=(_DECLARED,),
    ),
    Mutation(
        "declarations: no plan says what it relies on", "planner/rules/normalize/nulls.py",
        "    context.relied.update(_needed(node, predicate, simple, context.not_null))\n", "",
        suite=(_DECLARED,),
    ),
    Mutation(
        "declarations: what the base run has not checked counts as checked",
        "spark_jobs/declarations.py", "known >= set(columns)", "True", suite=(_DECLARED,),
    ),
    Mutation(
        "declarations: a changelog may take back what never came", "spark_jobs/declarations.py",
        'if found["back"] and', 'if not found["back"] and',
        suite=("tests/properties/test_wrong_declarations.py", "-k", "every_method"),
    ),
    Mutation(
        "pins: a file of the same size and time is the same file", "include/sources/contents.py",
        "if one != file.digest}", "if not one}",
        suite=("tests/include/sources/test_pins.py", "-k", "written_again"),
    ),
    Mutation(
        "keys: the check has plain NULLs for values, which Spark drops",
        "planner/rules/methods/only_partner.py",
        '(Call("case", (some, error(c.type), Literal(None, c.type)), c.type) for c in columns)',
        "(Literal(None, c.type) for c in columns)",
        suite=("tests/properties/test_only_partner.py", "-k", "rejects_null"),
    ),
)  # fmt: skip
