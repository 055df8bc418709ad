"""Breaks of what reads and prints SQL: functions, templates, parameters, set operations."""

from __future__ import annotations

from scripts.mutations.mutation import Mutation

_RECURSION = ("tests/planner/sql/test_recursion.py",)
_GENERATED = "planner/rules/normalize/generated_leaves.py"
_NORMAL = ("tests/plans/normalize",)
_READ = ("tests/planner/sql/test_golden_algebra.py", "tests/planner/sql/test_errors.py")
FRONT = (
    Mutation(
        "distinct: what is sorted by is looked for in the source",
        "planner/sql/query_block/ordering.py",
        "    value = substitute(value, plain)\n", "", suite=_READ,
    ),
    Mutation(
        "distinct: it is sorted by what is not listed", "planner/sql/query_block/ordering.py",
        "if references(value) <= {column.id for column in listed}:", "if True:", suite=_READ,
    ),
    Mutation(
        "recursion: an operator over rows that come", "planner/sql/frontend.py",
        "if isinstance(node, Recursion) and sources_of(node) & growing:", "if False:",
        suite=_RECURSION,
    ),
    Mutation(
        "recursion: an operator of whatever joins", "planner/sql/query_block/recursion.py",
        "one.kind is JoinKind.INNER", "True", suite=_RECURSION,
    ),
    Mutation(
        "leaves: elements that may not be there", "planner/rules/normalize/leaves.py",
        "part.name in (FIELD, ELEMENT) and not can_fail(part)", "part.name in (FIELD, ELEMENT)",
        suite=_NORMAL,
    ),
    Mutation(
        "generated leaves: an element that is read whole", _GENERATED,
        "if column.id in whole}", "if False}", suite=_NORMAL,
    ),
    Mutation(
        "generated leaves: a field of a field is all of it", _GENERATED,
        "return part if found == inner and by_field else found", "return found", suite=_NORMAL,
    ),
    Mutation(
        "generated leaves: no positions beside several fields", _GENERATED,
        "if places and len(arrays) > 1:", "if False:", suite=_NORMAL,
    ),
    Mutation(
        "generated leaves: the fields of an entry are taken for one another", _GENERATED,
        "zip(found.leaves.values(), fields, strict=True)",
        "zip(reversed(found.leaves.values()), fields, strict=True)", suite=_NORMAL,
    ),
    Mutation(
        "generated leaves: arrays that are computed", _GENERATED,
        "isinstance(taken, Ref) and taken.column.id in stored", "True", suite=_NORMAL,
    ),
    Mutation(
        "read widths: the text reads no more", "planner/rules/normalize/leaves.py",
        "if leaves > 1:", "if False:",
        suite=("tests/planner/rules/normalize/test_read_widths.py",),
    ),
    Mutation(
        "generated leaves: on Sail", "planner/cost/flaws.py",
        '"fields": "ReadGeneratedLeaves", ', "",
        suite=("tests/planner/stages/test_flawed.py",),
    ),
    Mutation(
        "empty: a filter that is never true, and any other", "planner/rules/normalize/empty.py",
        "isinstance(node, Filter) and node.predicate == FALSE", "isinstance(node, Filter)",
        suite=_NORMAL,
    ),
    Mutation(
        "empty: rows of the other side of an outer join go, too", "planner/props/emptiness.py",
        "    if node.kind in _KEEPS_LEFT:\n        return left\n",
        "    if node.kind in _KEEPS_LEFT:\n        return left or right\n",
        suite=_NORMAL,
    ),
    Mutation(
        "empty: a mark among no rows is NULL", "planner/rules/normalize/empty.py",
        "FALSE if column == node.mark else ", "", suite=_NORMAL,
    ),
    Mutation(
        "constants: decimals are compared, too", "planner/rules/normalize/constants.py",
        '_WHOLE = ("i", "l")', '_WHOLE = ("i", "l", "c")', suite=_NORMAL,
    ),
    Mutation(
        "estimates: all values of a column that is compared", "planner/stats/restricted.py",
        "distinct=min(before.distinct, values), nulls=0.0", "nulls=0.0",
        suite=("tests/planner/stats",),
    ),
    Mutation(
        "estimates: the name of a row is a tenth of the rows", "planner/stats/group_values.py",
        "if column.is_guess and", "if False and", suite=("tests/planner/stats",),
    ),
    Mutation(
        "samples: values that hardly repeat are counted, too", "planner/stats/sample.py",
        "if once * _FEW > there:", "if False:", suite=("tests/planner/stats",),
    ),
    Mutation(
        "samples: rows of one row group count as drawn by themselves", "planner/stats/sample.py",
        "max(by_rows, deviation / (share * (1.0 - share)))", "by_rows",
        suite=("tests/planner/stats",),
    ),
    Mutation(
        "samples: the end of a file with deleted rows is not drawn",
        "include/sources/parquet/format.py",
        "(at * ends[-1] // file.rows for at in places)", "places",
        suite=("tests/include/sources/test_samples.py",),
    ),
    Mutation(
        "samples: all row groups are near the first one", "include/sources/samples.py",
        "int((place + first) * total / number)", "int((place + first) * total / number / 9)",
        suite=("tests/include/sources/test_samples.py",),
    ),
    Mutation(
        "names: a cast of a column is called by its text", "planner/sql/binding/identifiers.py",
        "own_name(node) or own_name(_cast(node)) or shown(node)",
        "own_name(node) or shown(node)", suite=("tests/planner/sql",),
    ),
    Mutation(
        "names: moments are added without types", "planner/sql/query_block/select.py",
        "                item.name = output_name(item.node)\n", "                pass\n",
        suite=("tests/planner/sql/test_golden_algebra.py",),
    ),
    Mutation(
        "windows: a frame is kept as it is written", "planner/sql/syntax/parser.py",
        '"side": side.upper()}', '"side": side}', suite=("tests/planner/sql/test_letters.py",),
    ),
    Mutation(
        "joins: a star begins with what USING leaves",
        "planner/sql/query_block/from_clause.py",
        "(*now_hidden, *before, *merged, *after)", "(*merged, *after, *now_hidden, *before)",
        suite=("tests/planner/sql/test_golden_algebra.py",),
    ),
    Mutation(
        "names: a name of two output columns is the first one",
        "planner/sql/binding/binder.py",
        "        aliases[name] = None\n", "        pass\n", suite=("tests/planner/sql",),
    ),
    Mutation(
        "names: an element under a text has none in a row", "planner/sql/binding/shown.py",
        "return _constant_text(inner.expressions[0])", 'return ""',
        suite=("tests/planner/sql/test_golden_algebra.py",),
    ),
    Mutation(
        "names: a variable of a lambda has none in a row", "planner/sql/binding/shown.py",
        "exp.Identifier | exp.Column | exp.Dot", "exp.Column | exp.Dot",
        suite=("tests/planner/sql/test_golden_algebra.py",),
    ),
    Mutation(
        "subqueries: a column from outside is aggregated", "planner/sql/query_block/grouping.py",
        "any(outer_columns(value) for value in values)", "not values",
        suite=("tests/planner/sql/test_errors.py",),
    ),
    Mutation(
        "lambdas: reduce takes what its start is not", "planner/sql/binding/lambdas.py",
        'return nested or not known or body == wanted or kind_of(body) == "v"', "return True",
        suite=("tests/planner/sql/test_errors.py",),
    ),
    Mutation(
        "names: a field that is cast is called like a column", "planner/sql/binding/identifiers.py",
        "return None if of_field else inner", "return inner", suite=("tests/planner/sql",),
    ),
    Mutation(
        "samples: as few row groups as there may be", "include/sources/samples.py",
        "if opened * _OPENED + drawn * decoded / groups <= WORK:", "if False:",
        suite=("tests/include/sources/test_samples.py",),
    ),
    Mutation(
        "samples: what was read whole is doubted like a part", "include/sources/samples.py",
        "if values and not all_read", "if values",
        suite=("tests/include/sources/test_samples.py",),
    ),
    Mutation(
        "samples: shares far away are a doubt", "planner/stats/sample.py",
        "(one - other) ** 2 for one, other in pairwise(beyond)",
        "2 * one**2 for one in beyond", suite=("tests/planner/stats",),
    ),
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
