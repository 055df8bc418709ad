"""Breaks of the delta rules of joins and unions, and of signed bags."""

from __future__ import annotations

from scripts.mutations.mutation import Mutation

_RULES = "planner/rules/incremental"
_NOT_IN = ("tests/planner/rules/explore/test_counted_nulls.py",)
_BANDS = ("tests/properties/test_rule_values.py", "-k", "BandedJoin")
_INTERVALS = ("tests/properties/test_rule_values.py", "-k", "IntervalJoin")
_INTERVAL_JOINS = "planner/rules/explore/interval_joins.py"
_FUSED = "planner/rules/explore/fused_aggregates.py"
_FUSED_ROWS = ("tests/planner/rules/explore/test_fused_aggregates.py",)
_REPEATED = "planner/rules/normalize/repeated.py"
_NORMAL = ("tests/plans/normalize/test_normalize.py",)
_READERS = ("tests/properties/test_kinds.py", "-k", "readers", "-m", "not slow and not spark")
RULES = (
    Mutation(
        "repeat: a row that stands for several is taken back once", f"{_RULES}/linear.py",
        'Call("*", (Ref(delta.weight), times), BIGINT)', "Ref(delta.weight)",
    ),
    Mutation(
        "inner join: L_new for L_old", f"{_RULES}/join.py",
        "parts.append(weighted_join(join, left.old(), right.delta(), ids))",
        "parts.append(weighted_join(join, left.new(), right.delta(), ids))",
    ),
    Mutation(
        "inner join: R_old for R_new", f"{_RULES}/join.py",
        "    if left.changing:\n        parts.append(weighted_join(join, left.delta(), right.new()",
        "    if left.changing:\n        parts.append(weighted_join(join, left.delta(), right.old()",
    ),
    Mutation(
        "inner join: the term of dR dropped", f"{_RULES}/join.py",
        "    if right.changing:\n        parts.append",
        "    if not left.changing:\n        parts.append",
    ),
    Mutation(
        "join: the weight of the right side dropped", f"{_RULES}/join.py",
        "right.weight if join.kind is JoinKind.INNER else None", "None",
    ),
    Mutation(
        "outer join: the null-extended row not retracted", f"{_RULES}/outer_join.py",
        "parts.append(with_weight(_extend_by_nulls(join, touched), ids, sign=-1))",
        "_extend_by_nulls(join, touched)",
    ),
    Mutation(
        "anti join: the row that found a partner comes again", f"{_RULES}/outer_join.py",
        "        parts.append(with_weight(touched, ids, sign=-1))\n    return",
        "        parts.append(with_weight(touched, ids, sign=1))\n    return",
    ),
    Mutation(
        "outer join: every key of the delta counts as new", f"{_RULES}/outer_join.py",
        'AggregateCall("min", (Ref(run),))', 'AggregateCall("max", (Ref(run),))',
    ),
    Mutation(
        "outer join: what is taken back is looked up in the new version",
        f"{_RULES}/outer_join.py",
        "weighted_join(join, touched, right.old(), ids)",
        "weighted_join(join, touched, right.new(), ids)",
    ),
    Mutation(
        "signed bags: the sign of a weight dropped", "planner/tvr/signed.py",
        "(*keep, (weight, integer(sign)))", "(*keep, (weight, integer(1)))",
    ),
    Mutation(
        "signed bags: weights counted instead of summed", "planner/tvr/signed.py",
        'call = AggregateCall("sum", (Ref(bag.weight),))',
        'call = AggregateCall("count", (Ref(bag.weight),))',
    ),
    Mutation(
        "shared sub-plans: the readers' changes have one weight", f"{_RULES}/linear.py",
        "    if not node.column_ids & node.input.column_ids:", "    if False:", suite=_READERS,
    ),
    Mutation(
        "shared sub-plans: readers see the columns of the first", _REPEATED,
        "with_other_columns(above, context, within)", "above", suite=_NORMAL,
    ),
    Mutation(
        "shared sub-plans: what is equal is planned for each reader", _REPEATED,
        "return self._readers[self.number(node)] > 1", "return False",
        suite=_NORMAL,
    ),
    Mutation(
        "union: only the first branch that changed", f"{_RULES}/linear.py",
        "parts = tuple(branch.delta() for branch in inputs if branch.changing)",
        "parts = tuple(branch.delta() for branch in inputs if branch.changing)[:1]",
    ),
    Mutation(
        "sources: the delta is all that has arrived", "planner/rules/incremental/memo_rules.py",
        "delta = Scan(node.source, node.scanned, Version.DELTA)",
        "delta = Scan(node.source, node.scanned, Version.NEW)",
    ),
    Mutation(
        "not in: an empty subquery lets no NULL pass", "planner/rules/explore/counted_nulls.py",
        'passing.append(_call("and", same, _call("=", Ref(count), ZERO)))',
        'passing.append(_call("and", same, Literal("false" if pattern else "true", BOOLEAN)))',
        suite=_NOT_IN,
    ),
    Mutation(
        "not in: a NULL on the left passes", "planner/rules/explore/counted_nulls.py",
        "_number(1 << at), _number(0)), INT)", "_number(0), _number(0)), INT)", suite=_NOT_IN,
    ),
    Mutation(
        "not in: a NULL among the values is passed over", "planner/rules/explore/counted_nulls.py",
        'all_null = conjunction(tuple(_call("isnull", y) for y in others))',
        'all_null = conjunction(tuple(_call("isnotnull", y) for y in others))', suite=_NOT_IN,
    ),
    Mutation(
        "not in: only all columns at once", "planner/rules/explore/counted_nulls.py",
        "for size in range(count, 0, -1):", "for size in range(count, count - 1, -1):",
        suite=_NOT_IN,
    ),
    Mutation(
        "not in: over two readings of the subquery",
        "planner/rules/explore/counted_nulls.py",
        "repeats(node.right) is not Repeats.ALWAYS or ", "", suite=_NOT_IN,
    ),
    Mutation(
        "not in: what can fail is computed without need", "planner/rules/explore/counted_nulls.py",
        " or not all(map(is_movable, values))", "", suite=_NOT_IN,
    ),
    Mutation(
        "bands: the buckets beside one's own are not looked into", "planner/algebra/bands.py",
        "    return range(least, most + 1)", "    return range(max(least, 0), min(most, 0) + 1)",
        suite=_BANDS,
    ),
    Mutation(
        "bands: buckets on both sides of zero taken for two", "planner/algebra/bands.py",
        "least = max(0, least - 1)", "pass", suite=("tests/planner/algebra/test_bands.py",),
    ),
    Mutation(
        "bands: a day of the clocks is 24 hours", "planner/algebra/bands.py",
        'if value.type.name == "TIMESTAMP" and by.type.name == "INTERVAL DAY"', "if False",
        suite=("tests/planner/algebra/test_bands.py",),
    ),
    Mutation(
        "bands: DECIMALs of other digits behind the point are counted alike",
        "planner/algebra/bands.py", "        return one.scale == other.scale\n",
        "        return True\n", suite=("tests/planner/algebra/test_bands.py",),
    ),
    Mutation(
        "bands: a distance is taken the other way round", "planner/algebra/bands.py",
        "tuple((other, one, -least) for", "tuple((one, other, least) for",
        suite=("tests/planner/algebra/test_bands.py",),
    ),
    Mutation(
        "bands: sums that may wrap around are read", "planner/algebra/bands.py",
        "return band.low <= 0 <= band.high", "return True",
        suite=("tests/planner/algebra/test_bands.py",),
    ),
    Mutation(
        "banded join: the condition is that of the buckets alone",
        "planner/rules/explore/banded_joins.py",
        "Project(Filter(near, join.condition), kept)", "Project(near, kept)", suite=_BANDS,
    ),
    Mutation(
        "banded join: repeated to the wrong side", "planner/rules/explore/banded_joins.py",
        "sign = 1 if of_left[repeated] == band.base else -1", "sign = 1", suite=_BANDS,
    ),
    Mutation(
        "banded join: rows of the left are repeated in any join",
        "planner/rules/explore/banded_joins.py",
        "_banded(node, band, match.ids, 1)", "_banded(node, band, match.ids, 0)", suite=_BANDS,
    ),
    Mutation(
        "intervals: a point of NULL between bounds that are both open",
        "planner/algebra/intervals.py",
        "low is not None and not (low.open_ and high.open_)", "low is not None",
        suite=("tests/planner/algebra/test_intervals.py",),
    ),
    Mutation(
        "intervals: a bound of NULL that is none is in no bucket", "planner/algebra/intervals.py",
        "    if open_ is None:\n        return number\n", "    return number\n", suite=_INTERVALS,
    ),
    Mutation(
        "interval join: the last bucket of an interval is left out", _INTERVAL_JOINS,
        'Call("<=", (Ref(after), long), BOOLEAN)', 'Call("<", (Ref(after), long), BOOLEAN)',
        suite=_INTERVALS,
    ),
    Mutation(
        "interval join: the condition is that of the buckets alone", _INTERVAL_JOINS,
        "            return Filter(Join(kind, *self._each, conjunction(self._buckets)), condition)",
        "            return Join(kind, *self._each, conjunction(self._buckets))", suite=_INTERVALS,
    ),
    Mutation(
        "interval join: the rows of a left join without partner are left out", _INTERVAL_JOINS,
        "UnionAll((pairs, Project(alone, padded)), columns)", "UnionAll((pairs, pairs), columns)",
        suite=_INTERVALS,
    ),
    Mutation(
        "interval join: what else the condition reads does not tell rows apart", _INTERVAL_JOINS,
        "if column.id in read)", "if column.id in read & told)",
        suite=("tests/properties/test_banded_days.py", "-k", "partner"),
    ),
    Mutation(
        "fused aggregates: a filter below a join is forgotten", _FUSED,
        "        conjunction((*conjuncts(one), *conjuncts(other)))\n",
        "        conjunction(conjuncts(one))\n", suite=_FUSED_ROWS,
    ),
    Mutation(
        "fused aggregates: only the rows of the first one are read", _FUSED,
        'connected("or", tuple(dict.fromkeys(predicates)))', "predicates[0]", suite=_FUSED_ROWS,
    ),
    Mutation(
        "fused aggregates: rows that all leave out are read", _FUSED,
        "if TRUE not in predicates:", "if False:", suite=_FUSED_ROWS,
    ),
    Mutation(
        "fused aggregates: FILTER of the text dropped", _FUSED,
        "*conjuncts(call.where or TRUE)", "", suite=_FUSED_ROWS,
    ),
    Mutation(
        "fused aggregates: what can fail is computed on the others' rows", _FUSED,
        "            if own != TRUE and not all(map(is_movable, call.args)):\n"
        "                return None\n            wanted",
        "            wanted", suite=_FUSED_ROWS,
    ),
    Mutation(
        "fused aggregates: other joins taken for the same", _FUSED,
        "if len(conditions) > 1:", "if False:", suite=_FUSED_ROWS,
    ),
    Mutation(
        "fused aggregates: groups that lack some of their rows", _FUSED,
        " or not told <= {key.column.id for key in keys[0]}", "", suite=_FUSED_ROWS,
    ),
    Mutation(
        "fused aggregates: what each of them drew is drawn once", _FUSED,
        "if any(repeats(member.input) is Repeats.CHOSEN for member in members):", "if False:",
        suite=_FUSED_ROWS,
    ),
)  # fmt: skip
