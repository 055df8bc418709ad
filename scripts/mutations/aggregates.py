"""Breaks of aggregates: their rules, the states they keep, and choices among ties."""

from __future__ import annotations

from scripts.mutations.mutation import Mutation

_RULES = "planner/rules/incremental"
_STATES = "planner/algebra/aggregates/states.py"
_COUNTED = ("tests/properties/test_rule_values.py", "-k", "CountedValues")
AGGREGATES = (
    Mutation(
        "aggregate: the hidden count dropped", f"{_RULES}/aggregate.py",
        "    if node.keys and some_go:\n", "    if node.keys and not some_go:\n",
    ),
    Mutation(
        "aggregate: the old value of a group not taken back", f"{_RULES}/aggregate.py",
        "((integer(-1),), (integer(1),))", "((integer(1),),)",
    ),
    Mutation(
        "aggregate: the old value includes this run", f"{_RULES}/aggregate.py",
        'earlier = Call("<", (Ref(kept.run), kept.current), BOOLEAN)',
        'earlier = Call("<=", (Ref(kept.run), kept.current), BOOLEAN)',
    ),
    Mutation(
        "aggregate: groups that lost rows are not computed again", f"{_RULES}/aggregate.py",
        'Call("<>", (Ref(delta.weight), integer(1)), BOOLEAN)',
        'Call(">", (Ref(delta.weight), integer(9)), BOOLEAN)',
    ),
    Mutation(
        "states: counts merged by their maximum", _STATES,
        'count_rows(condition, weight), "sum"', 'count_rows(condition, weight), "max"',
    ),
    Mutation(
        "states: minima merged by their maximum", "planner/algebra/aggregates/simple_states.py",
        "lambda _: again, call.name, types.first_argument",
        'lambda _: again, {"min": "max"}.get(call.name, call.name), types.first_argument',
    ),
    Mutation(
        "states: averages of averages", "planner/algebra/aggregates/simple_states.py",
        'initial, "sum", types.sum_type', 'initial, "max", types.sum_type',
    ),
    Mutation(
        "states: FILTER forgotten", _STATES,
        "guards = rest if call.where is None else (call.where, *rest)", "guards = rest",
    ),
    Mutation(
        "deviations: parts with other means only added up", "planner/algebra/aggregates/moments.py",
        "return _plus(sums[product], _times(rows, _times(apart[i], apart[j])))",
        "return sums[product]",
    ),
    Mutation(
        "deviations: cubes of parts as if their means were that of all",
        "planner/algebra/aggregates/moments.py",
        "    for fewer in range(_PAIR, order):\n", "    for fewer in ():\n",
        suite=("tests/properties/test_aggregate_days.py", "-k", "shapes"),
    ),
    Mutation(
        "lists: in the order of something else", "planner/props/lists.py",
        " and call.args[0] == call.args[-1]:", ":", suite=("tests/planner/props/test_lists.py",),
    ),
    Mutation(
        "lists: a text of none is empty", "planner/algebra/aggregates/simple_states.py",
        'return where_more_than(Call("size", (values,), INT), Literal("0", INT), joined)',
        "return joined", suite=("tests/properties/test_lists.py", "-m", "not spark"),
    ),
    Mutation(
        "lists: as long as a value", "planner/stats/group_values.py",
        "gathered.width * size if gathered else", "", suite=("tests/planner/props/test_lists.py",),
    ),
    Mutation(
        "deviations: the mean of a constant is off by its last bit",
        "planner/algebra/aggregates/moments.py",
        'return Call("case", (Call("=", (low, high), BOOLEAN), low, mean), DOUBLE)', "return mean",
    ),
    Mutation(
        "deviations: a part counts once, whatever rows it is of",
        "planner/algebra/aggregates/moments.py",
        '(total, AggregateCall("sum", (_times(rows, mean),)))',
        '(total, AggregateCall("sum", (mean,)))',
    ),
    Mutation(
        "choices: ties of max_by taken for determined", "planner/rules/normalize/choice.py",
        "return references(value) <= closure(given, known)", "return True",
    ),
    Mutation(
        "choices: a declared key is not checked", "planner/rules/normalize/choice.py",
        'Call("case", (one, Ref(low), error), value.type)', "Ref(low)",
    ),
    Mutation(
        "aggregates: floating-point sums are taken back", "planner/algebra/aggregates/functions.py",
        "if signed and (known.retraction is Retraction.NONE or known.is_rounded(given)):",
        "if signed and known.retraction is Retraction.NONE:",
    ),
    Mutation(
        "parts: counts of parts counted", "planner/algebra/aggregates/table.py",
        'merged_by="sum",\n        of_two="+",\n        work=0',
        'merged_by="count",\n        of_two="+",\n        work=0',
    ),
    Mutation(
        "averages: a sum is divided in its own type, which rounds twice",
        "planner/algebra/aggregates/states.py",
        "value = _divided(cast(total, type_), rows, result)",
        "value = _divided(total, rows, result)",
        suite=("tests/properties/test_averages.py", "-m", "spark"),
    ),
    Mutation(
        "averages: what is left of a wide sum is divided in its own type, which rounds twice",
        "planner/algebra/aggregates/states.py",
        "_divided(cast(rest, type_), rows,", "_divided(rest, rows,",
        suite=("tests/properties/test_averages.py", "-m", "spark"),
    ),
    Mutation(
        "averages: of wide decimals are kept, too", "planner/algebra/aggregates/table.py",
        "state_over=types.is_averaged", "state_over=_numbers",
        suite=("tests/properties/test_averages.py", "-m", "not spark"),
    ),
    Mutation(
        "counts of values: the least mode where the greatest is asked for",
        "planner/algebra/aggregates/counted.py", 'call.within != "DESC"', "True",
        suite=_COUNTED,
    ),
    Mutation(
        "places: the value after the one up to which the share has come",
        "planner/algebra/aggregates/counted.py", 'Call(">=", (Ref(so_far), least), BOOLEAN)',
        'Call(">", (Ref(so_far), least), BOOLEAN)', suite=_COUNTED,
    ),
    Mutation(
        "places: the least one in a falling order", "planner/algebra/aggregates/counted.py",
        '"min" if call.within == "ASC" else "max"', '"min"', suite=_COUNTED,
    ),
    Mutation(
        "percentiles from above: of negatives", "planner/algebra/aggregates/counted.py",
        'values=(Call("neg", made.values, DOUBLE),)', "values=made.values", suite=_COUNTED,
    ),
    Mutation(
        "joined texts: in a rising order always", "planner/algebra/aggregates/simple_states.py",
        "texts = _in_order(values, call.within)", 'texts = _in_order(values, "ASC")',
    ),
    Mutation(
        "joined texts: of rows without a text, too", "planner/algebra/aggregates/simple_states.py",
        'Call("case", (there, pair, Literal(None, pair.type)), pair.type)', "pair",
    ),
    Mutation(
        "sketches: merged at the size that Spark takes by itself",
        "planner/algebra/aggregates/sketches.py", "call.args[1:] if sized else ()", "()",
        suite=("tests/planner/algebra/test_aggregates.py",),
    ),
    Mutation(
        "counts of values: NULL may be the mode", "planner/algebra/aggregates/counted.py",
        'Call("case", (there, by, Literal(None, by.type)), by.type)', "by",
        suite=_COUNTED,
    ),
)  # fmt: skip
