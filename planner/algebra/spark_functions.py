"""The functions of Spark 4.1's registry, each with what it means for a report: one record table.

Spark calls functions by name, and some of them do more than compute a value from their arguments:
``reflect`` runs any Java method, ``from_protobuf`` reads a file of the machine that it names. So
every function has a :class:`FunctionKind` here, and one that the table does not have is unknown. A
test compares the table with ``SHOW FUNCTIONS`` of the Spark that is installed: a new release cannot
bring a function that nobody has looked at.

Aggregate functions are in :mod:`forerun.planner.algebra.aggregates.functions`, window functions and
generators in :mod:`forerun.planner.algebra.functions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class FunctionKind(StrEnum):
    """The dependence of a scalar function's value, or the reason why a report may not call it."""

    PURE = "its arguments alone"
    RANDOM = "chance: another value each time"
    PLACE = "where the row lies: file, partition, or order of reading"
    CLOCK = "the time of the run"
    SESSION = "the session: user, catalog, time zone, version of Spark"
    JVM = "runs any Java method in the driver and the executors"
    MACHINE = "reads files of the machine that it runs on"
    OPTIONS = "reads any file or address that its options name"
    SECRET = "takes an encryption key, which would lie in the plan, in logs and on pages"
    ROWS = "is rewritten by Spark into several rows or columns"
    AGGREGATE = "an aggregate function that the planner has no rule for"
    TABLE = "a table, not a value"
    SYNTAX = "an operator, written otherwise"


_BY_KIND: Mapping[FunctionKind, str] = {
    FunctionKind.PURE: (
        "abs acos acosh add_months aggregate array array_append array_compact array_contains "
        "array_distinct array_except array_insert array_intersect array_join array_max array_min "
        "array_position array_prepend array_remove array_repeat array_size array_sort array_union "
        "arrays_overlap arrays_zip ascii asin asinh assert_true atan atan2 atanh base64 bigint bin "
        "binary bit_count bit_get bit_length bitmap_bit_position bitmap_bucket_number bitmap_count "
        "boolean bround btrim cardinality cast cbrt ceil ceiling char char_length character_length "
        "chr coalesce collate collation concat concat_ws contains conv convert_timezone cos cosh "
        "cot crc32 csc date date_add date_diff date_format date_from_unix_date date_part date_sub "
        "date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear decimal "
        "decode degrees div double e element_at elt encode endswith equal_null exists exp expm1 "
        "extract factorial filter find_in_set flatten float floor forall format_number "
        "format_string from_csv from_json from_unixtime from_utc_timestamp get get_json_object "
        "getbit greatest hash hex hll_sketch_estimate hll_union hour hypot if ifnull ilike initcap "
        "instr int is_valid_utf8 is_variant_null isnan isnotnull isnull json_array_length "
        "json_object_keys kll_sketch_get_n_bigint kll_sketch_get_n_double kll_sketch_get_n_float "
        "kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double "
        "kll_sketch_get_quantile_float kll_sketch_get_rank_bigint kll_sketch_get_rank_double "
        "kll_sketch_get_rank_float kll_sketch_merge_bigint kll_sketch_merge_double "
        "kll_sketch_merge_float kll_sketch_to_string_bigint kll_sketch_to_string_double "
        "kll_sketch_to_string_float approx_top_k_estimate last_day lcase least left len length "
        "levenshtein like ln locate log log10 log1p log2 lower lpad ltrim luhn_check make_date "
        "make_dt_interval make_interval make_time make_timestamp make_timestamp_ltz "
        "make_timestamp_ntz make_valid_utf8 make_ym_interval map map_concat map_contains_key "
        "map_entries map_filter map_from_arrays map_from_entries map_keys map_values map_zip_with "
        "mask md5 minute mod month monthname months_between named_struct nanvl negative next_day "
        "nullif nullifzero nvl nvl2 octet_length overlay parse_json parse_url pi pmod position "
        "positive pow power printf quarter quote radians raise_error reduce regexp regexp_count "
        "regexp_extract regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr "
        "repeat replace reverse right rint rlike round rpad rtrim schema_of_csv schema_of_json "
        "schema_of_variant sec second sentences sequence sha sha1 sha2 shiftleft shiftright "
        "shiftrightunsigned sign signum sin sinh size slice smallint sort_array soundex space "
        "split split_part sqrt st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid "
        "startswith str_to_map string struct substr substring substring_index tan tanh "
        "theta_difference theta_intersection theta_sketch_estimate theta_union time time_diff "
        "time_trunc timestamp timestamp_micros timestamp_millis timestamp_seconds tinyint to_avro "
        "to_binary to_char to_csv to_date to_json to_number to_time to_timestamp "
        "to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp to_varchar "
        "to_variant_object to_xml transform transform_keys transform_values translate trim trunc "
        "try_add try_divide try_element_at try_make_interval try_make_timestamp "
        "try_make_timestamp_ltz try_make_timestamp_ntz try_mod try_multiply try_parse_json "
        "try_parse_url try_subtract try_to_binary try_to_date try_to_number try_to_time "
        "try_to_timestamp try_url_decode try_validate_utf8 try_variant_get typeof ucase unbase64 "
        "unhex unix_date unix_micros unix_millis unix_seconds upper url_decode "
        "url_encode validate_utf8 variant_get weekday weekofyear width_bucket window_time xpath "
        "xpath_boolean "
        "xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string "
        "xxhash64 year zeroifnull zip_with "
        "timestampadd timestampdiff"  # of the grammar, not of the registry
    ),
    FunctionKind.RANDOM: "rand randn random randstr shuffle uniform uuid",
    FunctionKind.PLACE: (
        "input_file_block_length input_file_block_start input_file_name "
        "monotonically_increasing_id spark_partition_id"
    ),
    FunctionKind.CLOCK: (
        "curdate current_date current_time current_timestamp localtimestamp now unix_timestamp"
    ),
    FunctionKind.SESSION: (
        "current_catalog current_database current_schema current_timezone current_user "
        "session_user user version"
    ),
    FunctionKind.JVM: "java_method reflect try_reflect",
    FunctionKind.MACHINE: "from_protobuf to_protobuf",
    FunctionKind.OPTIONS: "from_avro from_xml schema_of_avro schema_of_xml",
    FunctionKind.SECRET: "aes_decrypt aes_encrypt try_aes_decrypt",
    FunctionKind.ROWS: "session_window window",
    FunctionKind.AGGREGATE: "schema_of_variant_agg",
    FunctionKind.TABLE: (
        "collations python_worker_logs range sql_keywords variant_explode variant_explode_outer"
    ),
    FunctionKind.SYNTAX: (
        "! != % & * + - / < << <= <=> <> = == > >= >> >>> ^ | || ~ and between case in not or when"
    ),
}
KINDS: Mapping[str, FunctionKind] = {
    name: kind for kind, names in _BY_KIND.items() for name in names.split()
}
"""The kind of each function that is no aggregate, window function or generator."""

REFUSED = frozenset(
    {FunctionKind.JVM, FunctionKind.MACHINE, FunctionKind.OPTIONS, FunctionKind.SECRET}
)
"""Kinds that a report may call only where its deployment allows the function by name."""
_VARYING = frozenset(
    {FunctionKind.RANDOM, FunctionKind.PLACE, FunctionKind.CLOCK, FunctionKind.SESSION}
)
NOT_DETERMINISTIC = frozenset(
    name for name, kind in KINDS.items() if kind in REFUSED | _VARYING and name != "unix_timestamp"
)
"""Functions of which two evaluations over the same row may differ: what they give is not kept
between runs. ``unix_timestamp`` is one of them only without arguments."""
ALWAYS_REFUSED = frozenset(
    name for name, kind in KINDS.items() if kind in REFUSED and kind is not FunctionKind.OPTIONS
)
"""Those of them that are refused whatever their arguments."""
ONLY_TEXT: Mapping[str, str] = {
    "arrays_zip": "arrays_zip names the fields of its result by the texts of its arguments",
    "collate": "a collation is a part of a type, and of how its values are compared",
    "collation": "a collation is a part of a type, and of how its values are compared",
}
"""Functions that only the user's own text gives their value, and why: stages of our own name and
type columns otherwise. (``struct`` names its fields by its arguments, too; it is read as
``named_struct``, and ``arrays_zip`` of arrays of known types, with a name each, as a cast to these
names.)"""
_WITHOUT_OPTIONS = {"from_avro": 2, "from_xml": 2, "schema_of_avro": 1, "schema_of_xml": 1}


def is_refused(name: str, arguments: int) -> bool:
    """True if a report may not call the function with so many arguments unless its deployment
    allows it. KeyError for a function that is not in the table."""
    kind = KINDS[name]
    if kind is FunctionKind.OPTIONS:
        return arguments > _WITHOUT_OPTIONS[name]
    return kind in REFUSED
