"""Breaks of what checks the declarations and the files of sources."""

from __future__ import annotations

from scripts.mutations.mutation import Mutation

_FOREIGN = "tests/spark/test_foreign_keys.py"
_DECLARED = "tests/spark/test_declarations.py"
_STAND_INS = ("tests/spark/test_stand_ins.py", "-m", "not spark")
_DAY_CHECKS = ("tests/spark/test_day_checks.py",)
DECLARATIONS = (
    Mutation(
        "checks: figures of other rows count as those of the base run's",
        "spark_jobs/checks/run_checks.py", "if record.pin != source.base_pin:", "if False:",
        suite=_DAY_CHECKS,
    ),
    Mutation(
        "checks: no run goes on from the figures of an earlier one",
        "spark_jobs/checks/run_checks.py",
        "known = _figures_of_base(work, source, progress) if part.name else {}", "known = {}",
        suite=_DAY_CHECKS,
    ),
    Mutation(
        "checks: a key with NULL is not looked for among earlier ones",
        "spark_jobs/checks/stand_ins.py", 'f"({within}) OR {null}"', "within",
        suite=_STAND_INS,
    ),
    Mutation(
        "checks: figures that cannot be read end the run", "spark_jobs/checks/run_checks.py",
        "            except ContractError as error:\n                progress(",
        "            except KeyError as error:\n                progress(", suite=_DAY_CHECKS,
    ),
    Mutation(
        "checks: a condition on rows is left out",
        "spark_jobs/checks/stand_ins.py", "not given <= _ARGUMENTS or ", "", suite=_STAND_INS,
    ),
    Mutation(
        "checks: a sum forgets what came before",
        "spark_jobs/checks/stand_ins.py", "values=(*one.values, *then)", "values=one.values",
        suite=_STAND_INS,
    ),
    Mutation(
        "checks: as many rows as the stand-in has are said to be checked",
        "spark_jobs/checks/stand_ins.py", "replace(finding, checked=count)", "finding",
        suite=_STAND_INS,
    ),
    Mutation(
        "declarations: no run checks them", "spark_jobs/executor.py",
        "        check_declarations(work)\n", "", suite=(_DECLARED,),
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
        "foreign keys: no run looks them up", "spark_jobs/declarations.py",
        "            _check_foreign_key(work, one)\n", "            pass\n", suite=(_FOREIGN,),
    ),
    Mutation(
        "foreign keys: no run says what it relies on", "planner/api.py",
        "relies_on=_relied_on(extracted, index),", "", suite=(_FOREIGN,),
    ),
    Mutation(
        "foreign keys: children that come count as those that were there",
        "planner/rules/incremental/foreign_key.py",
        "for one in _of(were, key.source, Version.OLD)",
        "for one in (row for row in were if row.source == key.source)",
        suite=("tests/plans/incremental", "-k", "foreign"),
    ),
    Mutation(
        "foreign keys: whatever comes on the parent's side counts as parents that come",
        "planner/rules/incremental/foreign_key.py",
        "for other in _of(come, key.key.parent, Version.DELTA)",
        "for other in (row for row in come if row.source == key.key.parent)",
        suite=("tests/plans/incremental", "-k", "foreign"),
    ),
    Mutation(
        "foreign keys: one column of several is enough",
        "planner/rules/incremental/foreign_key.py",
        "    return all(\n        any((a, b)", "    return any(\n        any((a, b)",
        suite=("tests/plans/incremental", "-k", "foreign"),
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
