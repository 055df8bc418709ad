"""The one table of aggregate functions: what every pass of the planner knows of them.

To add a function, add an :class:`AggregateFunction` to :data:`TABLE` (CONTRIBUTING.md has the
recipe). No pass tests a name: what a pass has to know is a field of the record, which
:mod:`forerun.planner.algebra.aggregates.functions` finds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from forerun.planner.algebra.aggregates import simple_states as states
from forerun.planner.algebra.aggregates import types
from forerun.planner.algebra.aggregates.counted import (
    at_place,
    by_numbers,
    from_above,
    most_frequent,
    of_values,
)
from forerun.planner.algebra.aggregates.moments import (
    CORRELATION,
    COVARIANCE,
    KURTOSIS,
    LINE,
    SKEWNESS,
    VARIANCE,
    Finish,
    Products,
    correlation,
    fit,
    intercept,
    kurtosis,
    moments_state,
    skewness,
    slope,
    spread,
    total,
)
from forerun.planner.algebra.aggregates.record import (
    Adds,
    AggregateFunction,
    Answer,
    Empty,
    Mean,
    Nulls,
    Retraction,
    Rounding,
    Types,
)
from forerun.planner.algebra.aggregates.sketches import sketch_states, top_items_state
from forerun.planner.algebra.aggregates.states import State
from forerun.planner.algebra.relational import AggregateCall
from forerun.planner.algebra.scalar import FALSE, TRUE, Literal
from forerun.planner.algebra.types import BIGINT, BOOLEAN, DOUBLE, STRING


def _numbers(given: Types) -> bool:
    return all(type_.is_numeric for type_ in given)


def _integers(given: Types) -> bool:
    return all(type_.is_integer for type_ in given)


def _truth_values(given: Types) -> bool:
    return all(type_ == BOOLEAN for type_ in given)


def _of_bigint(given: Types) -> bool:
    return given[:1] == (BIGINT,)


def _texts_in_order(given: Types) -> bool:
    """Return whether these are texts, and what is between them, in an order that an array of
    structs has, too."""
    *texts, by = given
    ordered = by.is_numeric or types.are_told_apart((by,))
    return ordered and all(type_ == STRING for type_ in texts)


def _spread(name: str, *synonyms: str, sample: bool, root: bool = False) -> AggregateFunction:
    finish = spread(sample=sample, root=root)
    return AggregateFunction(
        name=name,
        synonyms=synonyms,
        of_numbers=True,
        result=types.double,
        answer=Answer.BAG,
        rounding=Rounding.ALWAYS,
        state_over=_numbers,
        state=lambda call, _: moments_state(call, VARIANCE, finish),
        work=4,
    )


def _shape(name: str, products: Products, finish: Finish) -> AggregateFunction:
    return replace(_of_pairs(name, products, finish), arguments=(1, 1))


def _of_pairs(name: str, products: Products, finish: Finish) -> AggregateFunction:
    return AggregateFunction(
        name=name,
        arguments=(2, 2),
        of_numbers=True,
        result=types.double,
        answer=Answer.BAG,
        rounding=Rounding.ALWAYS,
        state_over=_numbers,
        state=lambda call, _: moments_state(call, products, finish),
        work=4 + 2 * len(products),
    )


def _first_or_last(
    name: str,
    *synonyms: str,
    answer: Answer = Answer.ORDER,
    state: Callable[[AggregateCall, bool], State] | None = None,
) -> AggregateFunction:
    return AggregateFunction(
        name=name,
        synonyms=synonyms,
        arguments=(1, 2),
        skips_nulls=True,
        result=types.first_argument,
        nulls=Nulls.OF_ARGUMENT,
        duplicates=False,
        same_rows="min",
        by_order=True,
        answer=answer,
        state=state,
    )


def _without_states(*names: str, **known: object) -> tuple[AggregateFunction, ...]:
    """Functions of which all that is known is given, and no state."""
    fields: dict[str, object] = {"arguments": (0, None), **known}
    return tuple(AggregateFunction(name=name, **fields) for name in names)  # type: ignore[arg-type]


def _truth(name: str, *synonyms: str, decisive: Literal) -> AggregateFunction:
    return AggregateFunction(
        name=name,
        synonyms=synonyms,
        result=types.boolean,
        answer=Answer.BAG,
        nulls=Nulls.OF_ARGUMENT,
        duplicates=False,
        state=states.truth_states(decisive),
        state_over=_truth_values,
        retraction=Retraction.BY_WEIGHT,
        merged_by=name,
    )


def _least_or_greatest(name: str, of_two: str) -> AggregateFunction:
    return AggregateFunction(
        name=name,
        result=types.first_argument,
        answer=Answer.BAG,
        nulls=Nulls.OF_ARGUMENT,
        duplicates=False,
        state=states.self_merging_state,
        merged_by=name,
        of_two=of_two,
        bounded=True,
    )


def _sketch(
    name: str, merge: str = "", *, answer: Answer, duplicates: bool = True, sized: bool = True
) -> AggregateFunction:
    return AggregateFunction(
        name=name,
        arguments=(1, None),
        result=types.binary,
        answer=answer,
        empty=Empty.OTHER,
        duplicates=duplicates,
        state=sketch_states(merge or name, sized=sized),
        by_order=answer is Answer.PARTS,
        in_objects=True,
    )


def _of_bits(name: str, *, duplicates: bool) -> AggregateFunction:
    return AggregateFunction(
        name=name,
        result=types.bits,
        answer=Answer.BAG,
        nulls=Nulls.OF_ARGUMENT,
        duplicates=duplicates,
        state=states.self_merging_state,
        state_over=_integers,
        merged_by=name,
    )


def _by(name: str, extreme: str) -> AggregateFunction:
    return AggregateFunction(
        name=name,
        arguments=(2, 2),
        result=types.first_argument,
        answer=Answer.TIES,
        duplicates=False,
        state=states.best_states(extreme),
        work=2,
        by_order=True,
    )


TABLE: tuple[AggregateFunction, ...] = (
    AggregateFunction(
        name="count",
        arguments=(1, None),
        takes_star=True,
        result=types.bigint,
        answer=Answer.BAG,
        nulls=Nulls.NEVER,
        adds=Adds.ONE,
        empty=Empty.ZERO,
        state=states.count_state,
        state_over=lambda _: True,
        retraction=Retraction.BY_WEIGHT,
        merged_by="sum",
        of_two="+",
        work=0,  # next to nothing
        mean=Mean.ROWS,
    ),
    AggregateFunction(
        name="count_if",
        result=types.count_of_known,
        answer=Answer.BAG,
        nulls=Nulls.NEVER,
        empty=Empty.ZERO,
        state=states.count_if_state,
        state_over=_truth_values,
        retraction=Retraction.BY_WEIGHT,
        merged_by="sum",
    ),
    AggregateFunction(
        name="sum",
        of_numbers=True,
        result=types.sum_type,
        answer=Answer.BAG,
        rounding=Rounding.OF_FLOATS,
        nulls=Nulls.OF_ARGUMENT,
        null_on_overflow=True,
        adds=Adds.ARGUMENT,
        overflows=_of_bigint,
        state=states.sum_state,
        state_over=_numbers,
        retraction=Retraction.BY_WEIGHT_AND_COUNT,
        merged_by="sum",
        of_two="+",
        mean=Mean.SUM,
    ),
    AggregateFunction(
        name="avg",
        synonyms=("mean",),
        of_numbers=True,
        result=types.average_type,
        answer=Answer.BAG,
        rounding=Rounding.OF_FLOATS,
        nulls=Nulls.OF_ARGUMENT,
        null_on_overflow=True,
        state=states.average_state,
        state_over=types.is_averaged,
        retraction=Retraction.BY_WEIGHT,
        computed_of=("sum", "count"),
    ),
    _least_or_greatest("min", "least"),
    _least_or_greatest("max", "greatest"),
    _by("min_by", "min"),
    _by("max_by", "max"),
    _truth("bool_and", "every", decisive=FALSE),
    _truth("bool_or", "some", "any", decisive=TRUE),
    _spread("stddev_samp", "stddev", "std", sample=True, root=True),
    _spread("stddev_pop", sample=False, root=True),
    _spread("var_samp", "variance", sample=True),
    _spread("var_pop", sample=False),
    _of_pairs("covar_samp", COVARIANCE, spread(sample=True)),
    _of_pairs("covar_pop", COVARIANCE, spread(sample=False)),
    _of_pairs("corr", CORRELATION, correlation),
    _first_or_last("any_value", answer=Answer.ANY, state=states.any_state),
    _first_or_last("first", "first_value"),
    _first_or_last("last", "last_value"),
    AggregateFunction(name="mode", arguments=(0, None), result=types.first_argument, by_order=True,
                      answer=Answer.COUNTS, takes_order=(0, 0), of_counts=most_frequent,
                      in_objects=True),
    _shape("skewness", SKEWNESS, skewness),
    _shape("kurtosis", KURTOSIS, kurtosis),
    _of_pairs("regr_slope", LINE, slope),
    _of_pairs("regr_intercept", LINE, intercept),
    _of_pairs("regr_r2", CORRELATION, fit),
    _of_pairs("regr_sxx", ((1, 1),), total),
    _of_pairs("regr_syy", ((0, 0),), total),
    _of_pairs("regr_sxy", COVARIANCE, total),
    _of_bits("bit_and", duplicates=False),
    _of_bits("bit_or", duplicates=False),
    _of_bits("bit_xor", duplicates=True),
    *_without_states("median", answer=Answer.BAG, result=types.percentile,
                     of_counts=by_numbers("percentile", Literal("0.5", DOUBLE)), in_objects=True),
    *_without_states("percentile", answer=Answer.BAG, result=types.percentile,
                     of_counts=by_numbers("percentile"), constant=1, in_objects=True),
    *_without_states("percentile_cont", ordered="percentile", takes_order=(1, 1), constant=0,
                     answer=Answer.BAG, result=types.ordered_percentile, of_counts=from_above,
                     in_objects=True),
    *_without_states("percentile_disc", takes_order=(1, 1), constant=0, answer=Answer.BAG,
                     result=types.ordered_percentile, of_counts=at_place, in_objects=True),
    *_without_states("approx_count_distinct", result=types.count_of_known, answer=Answer.BAG,
                     empty=Empty.ZERO, duplicates=False, of_counts=of_values),
    AggregateFunction(
        name="regr_count",
        arguments=(2, 2),
        result=types.bigint,
        answer=Answer.BAG,
        nulls=Nulls.NEVER,
        empty=Empty.ZERO,
        state=states.count_state,
        state_over=lambda _: True,
        retraction=Retraction.BY_WEIGHT,
        merged_by="sum",
    ),
    *_without_states(
        "regr_avgx", "regr_avgy", "try_sum", "try_avg", "product", "grouping", "grouping_id",
    ),
    AggregateFunction(name="percentile_approx", synonyms=("approx_percentile",),
                      arguments=(0, None), by_order=True, in_objects=True),
    AggregateFunction(name="listagg", synonyms=("string_agg",), arguments=(0, None),
                      result=types.text, by_order=True, takes_order=(1, 2), constant=1,
                      gathers=True, in_objects=True, state=states.joined_state,
                      state_over=_texts_in_order),
    AggregateFunction(name="collect_list", synonyms=("array_agg",), arguments=(0, None),
                      result=types.array_of_first, empty=Empty.OTHER, by_order=True,
                      state=states.list_state, state_over=types.are_told_apart, gathers=True,
                      in_objects=True,
                      in_order="array_sort"),
    *_without_states("collect_set", result=types.array_of_first, empty=Empty.OTHER,
                     duplicates=False, of_counts=of_values, by_order=True,
                     gathers=True, in_objects=True, in_order="array_sort"),
    _sketch("hll_sketch_agg", "hll_union_agg", answer=Answer.PARTS, duplicates=False, sized=False),
    _sketch("hll_union_agg", answer=Answer.PARTS, duplicates=False),
    _sketch("theta_sketch_agg", "theta_union_agg", answer=Answer.BAG, duplicates=False),
    _sketch("theta_union_agg", answer=Answer.BAG, duplicates=False),
    _sketch("bitmap_construct_agg", "bitmap_or_agg", answer=Answer.BAG, duplicates=False),
    _sketch("bitmap_or_agg", answer=Answer.BAG, duplicates=False),
    *(
        _sketch(f"kll_{made}_{type_}", f"kll_merge_agg_{type_}", answer=Answer.PARTS)
        for made in ("sketch_agg", "merge_agg")
        for type_ in ("bigint", "float", "double")
    ),
    AggregateFunction(name="approx_top_k", arguments=(1, 3), result=types.top_items,
                      empty=Empty.OTHER, by_order=True, answer=Answer.PARTS,
                      in_objects=True,
                      state=top_items_state),
    *_without_states("histogram_numeric", empty=Empty.OTHER, by_order=True, in_objects=True),
    *_without_states("count_min_sketch", "theta_intersection_agg", "bitmap_and_agg",
                     "approx_top_k_accumulate", "approx_top_k_combine", empty=Empty.OTHER,
                     in_objects=True),
)  # fmt: skip
"""Spark's aggregate functions. Of those without a type or a state, only what is needed is said:
they are planned, and computed in the run that gives the result."""
