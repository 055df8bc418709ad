"""Breaks of what reads and prints SQL: functions, templates, parameters, set operations."""

from __future__ import annotations

from scripts.mutations.mutation import Mutation

FRONT = (
    Mutation(
        "functions: what reaches into the JVM is called", "planner/algebra/spark_functions.py",
        "    return kind in REFUSED\n", "    return False\n",
    ),
    Mutation(
        "templates: nobody looks into a literal", "planner/sql/syntax/templates.py",
        "            _check_string(text, token)\n", "            pass\n",
    ),
    Mutation(
        "parameters: every day is the same", "planner/sql/binding/parameters.py",
        "else parameter.value, type_)", "else '2026-01-01', type_)",
    ),
    Mutation(
        "group keys: a subquery is any subquery", "planner/sql/query_block/grouping.py",
        "node is key or node.unnest() == key.unnest()", "True",
    ),
    Mutation(
        "printer: the delta of a family is all of it", "planner/sql/printing/printer.py",
        'Version.DELTA: "="', 'Version.DELTA: "<="',
    ),
    Mutation(
        "printer: OLD includes this run", "planner/sql/printing/printer.py",
        'Version.OLD: "<"', 'Version.OLD: "<="',
    ),
    Mutation(
        "grouping sets: a key is shown where the set has it not",
        "planner/sql/query_block/grouping_sets.py",
        "Ref(column), nothing)", "Ref(column), Ref(column))",
    ),
    Mutation(
        "grouping sets: the same group of two sets is one",
        "planner/sql/query_block/grouping_sets.py",
        "(*dict.fromkeys(keys), *listed)", "tuple(dict.fromkeys(keys))",
    ),
    Mutation(
        "EXCEPT: what the right side has stays", "planner/rules/normalize/set_operation.py",
        'if node.kind is SetKind.INTERSECT or i == 0 else "="', 'if True else "="',
    ),
    Mutation(
        "EXCEPT ALL: a row less on the right", "planner/rules/normalize/set_operation.py",
        '"least" if node.kind is SetKind.INTERSECT else "-"', '"least"',
    ),
)  # fmt: skip
