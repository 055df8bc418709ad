"""Expectations as data: what must hold of a delivery or of a result.

The names and arguments are those of Great Expectations (``expect_column_values_to_not_be_null``,
``column="id"``). This module only carries them; the Spark job evaluates them.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from forerun.include.reports.values.fields import SpecError, take_fields

Scalar = str | int | float | bool | None
Argument = str | int | float | bool | tuple[Scalar, ...] | None
Severity = Literal["critical", "warning"]

# Those of Great Expectations that look at one table. Lists of our own, because parsing a DAG must
# not import the package; a test compares them.
BY_ROW = frozenset(
    {
        "expect_column_pair_values_a_to_be_greater_than_b",
        "expect_column_pair_values_to_be_equal",
        "expect_column_pair_values_to_be_in_set",
        "expect_column_value_lengths_to_be_between",
        "expect_column_value_lengths_to_equal",
        "expect_column_values_to_be_between",
        "expect_column_values_to_be_dateutil_parseable",
        "expect_column_values_to_be_in_set",
        "expect_column_values_to_be_json_parseable",
        "expect_column_values_to_be_null",
        "expect_column_values_to_match_json_schema",
        "expect_column_values_to_match_like_pattern",
        "expect_column_values_to_match_like_pattern_list",
        "expect_column_values_to_match_regex",
        "expect_column_values_to_match_regex_list",
        "expect_column_values_to_match_strftime_format",
        "expect_column_values_to_not_be_in_set",
        "expect_column_values_to_not_be_null",
        "expect_column_values_to_not_match_like_pattern",
        "expect_column_values_to_not_match_like_pattern_list",
        "expect_column_values_to_not_match_regex",
        "expect_column_values_to_not_match_regex_list",
        "expect_multicolumn_sum_to_equal",
        "expect_multicolumn_values_to_be_equal",
        "expect_select_column_values_to_be_unique_within_record",
    }
)
"""Expectations that each row meets or not, whatever the others are: without ``mostly`` they hold of
a day if they hold of each of its deliveries."""
OF_SCHEMA = frozenset(
    {
        "expect_column_to_exist",
        "expect_column_type_to_be",
        "expect_column_values_to_be_in_type_list",
        "expect_column_values_to_be_of_type",
        "expect_table_column_count_to_be_between",
        "expect_table_column_count_to_equal",
        "expect_table_columns_to_match_ordered_list",
        "expect_table_columns_to_match_set",
    }
)
"""Expectations that look at names and types of columns only."""
OF_ALL_ROWS = frozenset(
    {
        "expect_column_distinct_values_to_be_in_set",
        "expect_column_distinct_values_to_contain_set",
        "expect_column_distinct_values_to_equal_set",
        "expect_column_kl_divergence_to_be_less_than",
        "expect_column_max_to_be_between",
        "expect_column_mean_to_be_between",
        "expect_column_median_to_be_between",
        "expect_column_min_to_be_between",
        "expect_column_most_common_value_to_be_in_set",
        "expect_column_proportion_of_non_null_values_to_be_between",
        "expect_column_proportion_of_unique_values_to_be_between",
        "expect_column_quantile_values_to_be_between",
        "expect_column_stdev_to_be_between",
        "expect_column_sum_to_be_between",
        "expect_column_unique_value_count_to_be_between",
        "expect_column_value_z_scores_to_be_less_than",
        "expect_column_values_to_be_decreasing",
        "expect_column_values_to_be_increasing",
        "expect_column_values_to_be_unique",
        "expect_column_values_to_not_be_outliers",
        "expect_compound_columns_to_be_unique",
        "expect_table_row_count_to_be_between",
        "expect_table_row_count_to_equal",
    }
)
"""Expectations on all rows together: what they say of a part says nothing of the whole."""
KNOWN = BY_ROW | OF_SCHEMA | OF_ALL_ROWS


class ExpectationError(SpecError):
    """An expectation that cannot be read: its name, an argument or its severity."""

    code = "expectation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """One expectation. ``critical`` stops publishing, ``warning`` publishes and says so."""

    type: str
    """The name of the expectation, as Great Expectations has it."""
    arguments: tuple[tuple[str, Argument], ...] = ()
    """The arguments of the expectation, as it has them."""
    severity: Severity = "critical"
    """Whether a result that breaks it is held back (``critical``) or published with a note
    (``warning``)."""

    def __post_init__(self) -> None:
        take_fields(self, "Expectation")
        if self.type not in KNOWN:
            near = get_close_matches(self.type, sorted(KNOWN), n=1, cutoff=0.0)
            raise ExpectationError(
                f"{self.type!r:.100} is not an expectation of Great Expectations on one table",
                hint=f"The nearest name is {near[0]}.",
            )

    @property
    def holds_by_parts(self) -> bool:
        """Whether it holds of a day if it holds of each part of its rows. A share of rows that need
        not meet it (``mostly``) is one of all rows."""
        share = self.argument("mostly")
        return self.type in OF_SCHEMA or (self.type in BY_ROW and share in (None, 1, 1.0))

    def argument(self, name: str) -> Argument:
        """The value of an argument, None when it is not given."""
        return dict(self.arguments).get(name)


def expect(name: str, /, *, severity: Severity = "critical", **arguments: object) -> Expectation:
    """Write an expectation as a call: ``expect("expect_column_to_exist", column="id")``.

    Raises :class:`ExpectationError` for an argument that is not a JSON scalar or a list of them.
    """
    return Expectation(
        type=name,
        arguments=tuple((key, _argument(name, key, arguments[key])) for key in sorted(arguments)),
        severity=severity,
    )


def _argument(name: str, key: str, value: object) -> Argument:
    if isinstance(value, list | tuple):
        return tuple(_scalar(name, key, item) for item in value)
    return _scalar(name, key, value)


def _scalar(name: str, key: str, value: object) -> Scalar:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise ExpectationError(
        f"{name}: argument {key} is a {value.__class__.__name__}",
        hint="Arguments are texts, numbers, booleans, None, or lists of these.",
    )
