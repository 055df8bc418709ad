"""Breaks of the methods beyond plain incremental maintenance: join blocks, domains, parts."""

from __future__ import annotations

from scripts.mutations.mutation import Mutation

_METHODS = "planner/rules/methods"
_PARTNERS = "planner/rules/explore/grouped_partners.py"
_EAGER = "planner/rules/explore/eager_aggregate.py"
_PARTS = "planner/rules/methods/positive_negative.py"
_APPENDED = "planner/rules/methods/appended_windows.py"
_DAYS = ("tests/properties/test_appended_windows.py", "-m", "not spark")
_INCREMENTAL = "planner/rules/incremental/memo_rules.py"
_RECENT = "planner/rules/methods/recent_rows.py"
_RECENT_DAYS = ("tests/properties/test_recent_rows.py", "-m", "not spark")
_UPCOMING = "planner/rules/methods/upcoming_rows.py"
_REPEATABLE = "planner/props/repeatable.py"
_REPEATS = ("tests/planner/props/test_repeatable.py",)
_ORDER = "planner/temporal/window_order.py"
_ORDERED = ("tests/planner/temporal/test_window_order.py",)
_STACKED_DAYS = ("tests/properties/test_stacked_windows.py", "-m", "not spark")
METHODS = (
    Mutation(
        "appended windows: nobody looks at the order", _APPENDED,
        "return value_if(fine, value, OUT_OF_ORDER.format(name=order.name))", "return value",
        suite=_DAYS,
    ),
    Mutation(
        "appended windows: rows that tie with older ones are fine", _APPENDED,
        'Call(">", (Ref(order), last), BOOLEAN)', 'Call(">=", (Ref(order), last), BOOLEAN)',
        suite=_DAYS,
    ),
    Mutation(
        "appended windows: numbers begin again", _APPENDED,
        'Call("+", (_or_zero(before), made), BIGINT)', "made", suite=_DAYS,
    ),
    Mutation(
        "appended windows: a partition of NULL has no rows before", _APPENDED,
        'Call("<=>", (Ref(mine), Ref(theirs))', 'Call("=", (Ref(mine), Ref(theirs))', suite=_DAYS,
    ),
    Mutation(
        "appended windows: of rows that a join brings, too", _APPENDED,
        "elif not isinstance(node, Filter | Window):", "elif False:",
        suite=("tests/plans/incremental",),
    ),
    Mutation(
        "appended windows: what is summed up may be chosen", _APPENDED,
        "or not _repeat(memo, window, tvr.repeated)", "", suite=_STACKED_DAYS,
    ),
    Mutation(
        "windows over windows: the row before may have any column", _REPEATABLE,
        "call.name in BY_PLACE and read <= places", "call.name in BY_PLACE", suite=_REPEATS,
    ),
    Mutation(
        "windows over windows: 0.0 and -0.0 are the same", _REPEATABLE,
        "peers if by_place and same else None", "peers if by_place else None", suite=_REPEATS,
    ),
    Mutation(
        "windows over windows: a window in another order is not sorted", _ORDER,
        "return _left_in(memo, window.input.group) == order",
        "return _left_in(memo, window.input.group) is not None", suite=_ORDERED,
    ),
    Mutation(
        "windows over windows: what was stored lies in its order", _ORDER,
        "if isinstance(one.node, Window) and not one.dropped and is_in_order(memo, one.node):",
        "if False:", suite=_ORDERED,
    ),
    Mutation(
        "windows over windows: two windows choose alike", _REPEATABLE,
        "Peers(partition, call.order, node.calls[0][0].id)", "Peers(partition, call.order, 0)",
        suite=_REPEATS,
    ),
    Mutation(
        "windows over windows: a filter leaves ties whole", _REPEATABLE,
        "peers if peers and read <= peers.columns else None", "peers", suite=_REPEATS,
    ),
    Mutation(
        "windows over windows: a sum in any order takes ties whole", _REPEATABLE,
        "return not call.order or call.order == peers.order", "return True", suite=_REPEATS,
    ),
    Mutation(
        "windows over windows: a choice with another column is none", _REPEATABLE,
        "if peers and read <= self.chosen.keys() | peers.columns else None", "", suite=_REPEATS,
    ),
    Mutation(
        "windows that number rows: what is above them waits", _INCREMENTAL,
        "and isinstance(node, PASSES_ON))", "and False)", suite=_RECENT_DAYS,
    ),
    Mutation(
        "recent rows: nobody looks at the key", _RECENT,
        "value_if(single, one_way, text)", "one_way", suite=_RECENT_DAYS,
    ),
    Mutation(
        "recent rows: nobody looks at the key of the rows that were there", _RECENT,
        "value_if(Ref(apart), FALSE, text)", "FALSE", suite=_RECENT_DAYS,
    ),
    Mutation(
        "recent rows: a tie with a row that is left out is not seen", _RECENT,
        "most if apart is None else most + 1", "most", suite=_RECENT_DAYS,
    ),
    Mutation(
        "recent rows: rows that tie have a last one", _RECENT,
        "return is_key(closure(sorted(_places(window)), known.dependencies), known.keys)",
        "return True", suite=_RECENT_DAYS,
    ),
    Mutation(
        "recent rows: the first moment in place of the last", _RECENT,
        'AggregateCall("max", (Ref(order),))', 'AggregateCall("min", (Ref(order),))',
        suite=_STACKED_DAYS,
    ),
    Mutation(
        "recent rows: of the last row its moment is enough", _RECENT,
        "_read(window) <= {column.id for column in columns}", "True", suite=_STACKED_DAYS,
    ),
    Mutation(
        "recent rows: the first rows in place of the last", _RECENT,
        "SortKey(k.column, not k.ascending, not k.nulls_first)", "k", suite=_RECENT_DAYS,
    ),
    Mutation(
        "recent rows: one row fewer than a frame looks back at", _RECENT,
        "most = max(1, *(_looks_back(call) or 0 for _, call in window.calls))", "most = 1",
        suite=_RECENT_DAYS,
    ),
    Mutation(
        "recent rows: the rows that were there come again", _RECENT,
        "Project(Filter(among, Ref(came)),", "Project(among,", suite=_RECENT_DAYS,
    ),
    Mutation(
        "upcoming rows: nobody looks at the order", _UPCOMING,
        "(Ref(came), later, there)", "(Ref(came), there, there)", suite=_RECENT_DAYS,
    ),
    Mutation(
        "upcoming rows: rows that tie are in an order", _RECENT,
        "return reads_what_ties(window) or _is_told_apart(memo, window)", "return True",
        suite=_RECENT_DAYS,
    ),
    Mutation(
        "upcoming rows: one row sees what comes, however far they look", _UPCOMING,
        "most = max(1, *(_looks_ahead(one) or 0 for _, one in window.calls))", "most = 1",
        suite=_RECENT_DAYS,
    ),
    Mutation(
        "upcoming rows: the rows that see what comes stay as they are, too", _UPCOMING,
        "stays, seeing = (Join(kind, kept, last, same) for kind in (JoinKind.ANTI, JoinKind.SEMI))",
        "stays, seeing = kept, Join(JoinKind.SEMI, kept, last, same)", suite=_RECENT_DAYS,
    ),
    Mutation(
        "upcoming rows: a partition of NULL has no last rows", _UPCOMING,
        'Call("<=>", (Ref(one), Ref(other)), BOOLEAN)',
        'Call("=", (Ref(one), Ref(other)), BOOLEAN)', suite=_RECENT_DAYS,
    ),
    Mutation(
        "outer join views: who loses the last partner is taken back again",
        f"{_METHODS}/outer_join_views.py", "sign=1 if after else -1", "sign=-1",
    ),
    Mutation(
        "outer join views: nobody loses a partner", f"{_METHODS}/outer_join_views.py",
        "            if after and direct.weight is None:\n", "            if after:\n",
    ),
    Mutation(
        "virtual time points: the leaf counts as not yet updated", "planner/rules/join_block.py",
        "leaf.number < updated or (leaf.number == updated and not after)",
        "leaf.number <= updated",
    ),
    Mutation(
        "views: leaves of two versions in one", f"{_METHODS}/update_chain.py",
        "olds <= {number < updated.number}", "True",
    ),
    Mutation(
        "domain: the group of NULL left out", f"{_METHODS}/domain.py",
        'connected("or", (partner, *(Call("isnull", (Ref(key),), BOOLEAN) for key in keys)))',
        "partner",
    ),
    Mutation(
        "aggregated first: not by the keys of the query", f"{_METHODS}/pre_aggregation.py",
        "keys = block.needed(side, wanted)", "keys = block.needed(side, ())",
    ),
    Mutation(
        "reduced partners: those that no row looks for",
        "planner/rules/explore/reduced_partners.py",
        "Join(JoinKind.SEMI, node.right", "Join(JoinKind.ANTI, node.right",
    ),
    Mutation(
        "grouped partners: rows without a partner left out", _PARTNERS,
        'return Call("coalesce", (self.column(_ROWS), ONE), BIGINT)',
        'return Call("coalesce", (self.column(_ROWS), ZERO), BIGINT)',
    ),
    Mutation(
        "grouped partners: in a full join partners without a key are none", _PARTNERS,
        "joined[0] if found.join.kind is JoinKind.LEFT else None", "joined[0]",
    ),
    Mutation(
        "grouped partners: branches are not told apart", _PARTNERS,
        "(*of_right, otherwise)", "of_right",
    ),
    Mutation(
        "aggregated eagerly: what missing partners are not skipped by",
        "planner/rules/explore/eager_aggregate.py",
        "not call.args or not null_strict(call.args[0]).isdisjoint(columns)", "True",
    ),
    Mutation(
        "IM-2: rows without a partner of one side only of a full join", _PARTS,
        "negative.append(_alone(node, node.right, node.left))", "pass",
    ),
    Mutation(
        "IM-2: the first part alone is carried", _PARTS,
        "node.with_inputs((part, *node.inputs[1:]))) for role, part in parts]",
        "node.with_inputs((part, *node.inputs[1:]))) for role, part in parts[:1]]",
    ),
    Mutation(
        "wide sums: a BIGINT is added up as it is", _EAGER,
        "return not has_small_sums(substitute(call.args[0], named), known)", "return False",
        suite=("tests/planner/rules/explore",),
    ),
    Mutation(
        "wide sums: all values are small", "planner/rules/explore/small_values.py",
        "found.most * found.rows * _ROOM <", "0 <",
        suite=("tests/planner/rules/methods/test_chosen.py", "-k", "large_numbers"),
    ),
    Mutation(
        "small values: the greatest is small enough", "planner/rules/explore/small_values.py",
        "found.most * _ROOM_OF_VALUES <", "0 <", suite=("tests/planner/rules",),
    ),
    Mutation(
        "wide sums: the result is a DECIMAL", _EAGER,
        "(to, _cast(Ref(column), to.type))", "(to, Ref(column))",
        suite=("tests/planner/rules/explore",),
    ),
    Mutation(
        "eager aggregation: what skips no NULL is pushed to the side that may be missing", _EAGER,
        "may_miss = side == 1 and join.kind is JoinKind.LEFT", "may_miss = False",
        suite=("tests/planner/rules/explore",),
    ),
    Mutation(
        "partners: below one join alone", "planner/rules/explore/catalog.py",
        "_MOST_JOINS_ABOVE = 4", "_MOST_JOINS_ABOVE = 1",
        suite=("tests/planner/rules/methods/test_chosen.py", "-k", "below_other_joins"),
    ),
)  # fmt: skip
