"""The arguments that functions of Spark's registry take: how many, of which kinds, which constant.

Made by asking Spark 4.1's analyzer about columns of every kind; ``tests/spark/
test_types_on_spark.py`` asks again. What is not in a table is not checked: the types of three and
more arguments, and of elements. The judge finds what is refused for those
(:mod:`forerun.spark_jobs.judged`). Letters of kinds are those of
:mod:`forerun.planner.algebra.type_kinds`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from forerun.planner.algebra.type_kinds import kind_of
from forerun.planner.algebra.types import DataType

_NUMBERS = """
0: curdate current_catalog current_database current_date current_schema
    current_timestamp current_timezone current_user e input_file_block_length
    input_file_block_start input_file_name localtimestamp monotonically_increasing_id now pi
    session_user spark_partition_id user version
0-: array arrays_zip concat map_concat
0-1: current_time rand randn random uuid
0-2: make_ym_interval mode unix_timestamp
0-4: make_dt_interval
0-7: make_interval
1: abs acos acosh any array_agg array_compact array_distinct array_max array_min array_size ascii
    asin asinh atan atanh avg base64 bigint bin binary bit_and bit_count bit_length bit_or bit_xor
    bitmap_and_agg bitmap_bit_position bitmap_bucket_number bitmap_construct_agg bitmap_count
    bitmap_or_agg bool_and bool_or boolean cardinality cbrt char char_length character_length chr
    collation collect_list collect_set cos cosh cot count_if crc32 csc date date_from_unix_date
    day dayname dayofmonth dayofweek dayofyear decimal degrees double every exp expm1 factorial
    flatten float hex hll_sketch_estimate initcap int is_valid_utf8 is_variant_null isnan
    isnotnull isnull json_array_length json_object_keys kll_sketch_get_n_bigint
    kll_sketch_get_n_double kll_sketch_get_n_float kll_sketch_to_string_bigint
    kll_sketch_to_string_double kll_sketch_to_string_float kurtosis last_day lcase len length ln
    log10 log1p log2 lower luhn_check make_valid_utf8 map_entries map_from_entries map_keys
    map_values max md5 mean median min month monthname negative nullifzero octet_length parse_json
    positive quarter quote radians raise_error reverse rint schema_of_variant
    schema_of_variant_agg sec sha sha1 sign signum sin sinh size skewness smallint some soundex
    space sqrt st_asbinary st_geogfromwkb st_geomfromwkb st_srid std stddev stddev_pop stddev_samp
    string sum tan tanh theta_intersection_agg theta_sketch_estimate time timestamp
    timestamp_micros timestamp_millis timestamp_seconds tinyint to_variant_object try_avg
    try_parse_json try_sum try_url_decode try_validate_utf8 typeof ucase unbase64 unhex unix_date
    unix_micros unix_millis unix_seconds upper url_decode url_encode validate_utf8 var_pop
    var_samp variance weekday weekofyear window_time year zeroifnull
1,2,3,6,7: make_timestamp try_make_timestamp
1-: coalesce concat_ws count format_string hash hour minute printf second xxhash64
1-2: any_value approx_count_distinct approx_top_k_accumulate approx_top_k_combine
    approx_top_k_estimate array_sort assert_true bround btrim ceil ceiling first first_value floor
    from_unixtime hll_sketch_agg hll_union_agg kll_merge_agg_bigint kll_merge_agg_double
    kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float last
    last_value listagg log ltrim randstr round rtrim schema_of_avro schema_of_csv schema_of_json
    schema_of_xml shuffle sort_array string_agg theta_sketch_agg theta_union_agg to_avro to_binary
    to_csv to_date to_json to_time to_timestamp to_timestamp_ltz to_timestamp_ntz
    to_unix_timestamp to_xml trim try_to_binary try_to_date try_to_time try_to_timestamp
1-3: approx_top_k sentences str_to_map
1-5: mask
1-7: try_make_interval
2: add_months array_append array_contains array_except array_intersect array_position
    array_prepend array_remove array_repeat array_union arrays_overlap atan2 bit_get collate
    contains corr covar_pop covar_samp date_format date_part date_sub date_trunc datepart div
    element_at encode endswith equal_null exists filter find_in_set forall format_number
    from_utc_timestamp get get_json_object getbit histogram_numeric hypot ifnull instr
    kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double kll_sketch_get_quantile_float
    kll_sketch_get_rank_bigint kll_sketch_get_rank_double kll_sketch_get_rank_float
    kll_sketch_merge_bigint kll_sketch_merge_double kll_sketch_merge_float left map_contains_key
    map_filter map_from_arrays max_by min_by mod nanvl next_day nullif nvl pmod pow power regexp
    regexp_count regexp_like regexp_substr regr_avgx regr_avgy regr_count regr_intercept regr_r2
    regr_slope regr_sxx regr_sxy regr_syy repeat right rlike sha2 shiftleft shiftright
    shiftrightunsigned st_setsrid startswith theta_difference theta_intersection time_trunc
    to_char to_number to_utc_timestamp to_varchar transform transform_keys transform_values trunc
    try_add try_divide try_element_at try_mod try_multiply try_subtract try_to_number xpath
    xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short
    xpath_string
2,3,6,7: make_timestamp_ltz try_make_timestamp_ltz
2,6: make_timestamp_ntz try_make_timestamp_ntz
2-: decode elt greatest least
2-3: date_add date_diff dateadd datediff
    approx_percentile array_join convert_timezone from_avro from_csv from_json from_xml hll_union
    ilike levenshtein like locate lpad months_between parse_url percentile percentile_approx
    regexp_extract regexp_extract_all regexp_instr replace rpad sequence split substr substring
    theta_union try_parse_url try_variant_get uniform variant_get
3: timestampadd timestampdiff
    array_insert conv if make_date make_time map_zip_with nvl2 slice split_part substring_index
    time_diff translate zip_with
3-4: aggregate overlay reduce regexp_replace
4: count_min_sketch width_bucket
"""
"""Of how many arguments a function is, ``2-`` of two or more: the functions."""
_ONE = """
vilfecs: acos acosh asin asinh atan atanh bin bitmap_bit_position bitmap_bucket_number
    bitmap_construct_agg bround cbrt ceil ceiling char chr cos cosh cot csc date_from_unix_date
    degrees exp expm1 factorial floor from_unixtime isnan kurtosis ln log log10 log1p log2
    make_dt_interval make_interval make_ym_interval nullifzero radians rint round sec sin sinh
    skewness space sqrt std stddev stddev_pop stddev_samp tan tanh try_make_interval var_pop
    var_samp variance zeroifnull
vbilfecsxdtnmw: ascii bit_length btrim char_length character_length concat_ws format_string hex
    initcap is_valid_utf8 lcase len length listagg lower ltrim luhn_check make_valid_utf8
    octet_length printf quote raise_error rtrim sentences string_agg to_binary to_date
    to_timestamp to_timestamp_ltz to_timestamp_ntz trim try_to_binary try_to_date try_to_timestamp
    try_url_decode try_validate_utf8 ucase unbase64 unhex upper url_decode url_encode
    validate_utf8
vsdtn: date day dayname dayofmonth dayofweek dayofyear hour last_day minute month monthname
    quarter second to_unix_timestamp unix_timestamp weekday weekofyear year
vsx: base64 binary crc32 kll_sketch_get_n_bigint kll_sketch_get_n_double kll_sketch_get_n_float
    kll_sketch_to_string_bigint kll_sketch_to_string_double kll_sketch_to_string_float md5 sha
    sha1
vil: bit_and bit_or bit_xor kll_sketch_agg_bigint timestamp_micros timestamp_millis uuid
va: array_compact array_distinct array_max array_min array_size arrays_zip shuffle sort_array
vs: collation json_array_length json_object_keys mask parse_json soundex str_to_map try_parse_json
vx: hll_sketch_estimate hll_union_agg kll_merge_agg_bigint kll_merge_agg_double
    kll_merge_agg_float theta_intersection_agg theta_sketch_estimate theta_union_agg
vilfecsmw: abs median negative positive sign signum
vbs: any bool_and bool_or count_if every some
vilfecstmw: avg mean sum try_avg try_sum
vbilfecstmw: bigint decimal int smallint tinyint
vbilfecsxdtnmwar: collect_set hash max min xxhash64
a: array_sort flatten map_from_entries
x: bitmap_and_agg bitmap_count bitmap_or_agg
vd: make_timestamp try_make_timestamp unix_date
vp: map_entries map_keys map_values
vt: unix_micros unix_millis unix_seconds
bilfecsdtn: approx_top_k approx_top_k_accumulate
vap: cardinality size
vbilfecst: double float
v: is_variant_null schema_of_variant
vr: to_csv to_xml
vb: assert_true
vbil: bit_count
vbilfecs: boolean
vilsx: hll_sketch_agg
vfe: kll_sketch_agg_double
vf: kll_sketch_agg_float
p: map_concat
vilfesxa: theta_sketch_agg
vilfecsdtn: timestamp
vilfec: timestamp_seconds
vapr: to_json
apr: to_variant_object
"""
"""Kinds of the one argument: the functions that take them, called with one."""
_TWO = """
vbilecsxdtmwapr*b: any_value first first_value last last_value mode
vbilecsxdtmw*vbilecsxdtmw: btrim contains encode endswith find_in_set ilike instr levenshtein like
    locate ltrim regexp regexp_count regexp_extract regexp_extract_all regexp_instr regexp_like
    regexp_substr replace rlike rtrim sentences split startswith to_date to_timestamp
    to_timestamp_ltz to_timestamp_ntz trim try_to_date try_to_timestamp
vilecs*vilecs: atan2 corr covar_pop covar_samp hypot log make_dt_interval make_interval
    make_ym_interval nanvl pow power regr_avgx regr_avgy regr_count regr_intercept regr_r2
    regr_slope regr_sxx regr_sxy regr_syy shiftleft shiftright shiftrightunsigned
    try_make_interval
a*vbilecsxdtmwapr: array_append array_contains array_except array_intersect array_position
    array_prepend array_remove array_union arrays_overlap
a*vilecs: get
vs*v: mask
vbilecsxdtmw*vilecs: left lpad repeat right rpad substr substring
vd*v: make_timestamp make_timestamp_ltz make_timestamp_ntz try_make_timestamp
    try_make_timestamp_ltz try_make_timestamp_ntz
va*vbilecsxdtmwapr: array_sort exists filter forall transform
vsdt*vbilecsxdtmw: date_format from_utc_timestamp next_day to_utc_timestamp trunc
vs*vs: get_json_object parse_url str_to_map try_parse_url
vx*vx: hll_union theta_difference theta_intersection theta_union
vsdt*vis: date_add date_sub dateadd
vsdt*vsdt: date_diff datediff months_between
vsdt*vbilecsxdtmwapr: hour minute second
vsx*vbilecsxdtmw: decode
vsx*vsx: kll_sketch_merge_bigint kll_sketch_merge_double kll_sketch_merge_float
vp*vbilecsxdtmwapr: map_filter transform_keys transform_values
v*vilec ilec*vilecs s*ilec: try_mod
vsdt*vs: to_unix_timestamp unix_timestamp
bilecsdt*vilecs: approx_top_k approx_top_k_accumulate
va*va: map_from_arrays
vil*vilecs: bit_get getbit
vbilecsxdtmw*vsdt: convert_timezone date_trunc
ap*vbilecsxdtmwapr: element_at try_element_at
vilecs*vbilecsxdtmw: elt from_unixtime
vbilecsxdtmw*vbilecsxdtmwapr: format_string printf
p*vbilecsxdtmwapr: map_contains_key
vapr*p: to_json
vr*p: to_csv to_xml
vbilecsxdtmwapr*vbilecsxdtmwar: max_by min_by
v*vs: try_variant_get variant_get
vsdt*vilecs: add_months
va*vs: array_join
vbilecsxdtmwapr*vi: array_repeat
vb*vbilecsxdtmw: assert_true
vbilecsxdtmw*vbilecsxdtmwa: concat_ws
vilec*vis: format_number
vbilecsxdtmwar*vbilecsxdtmwar: hash
vbilecsxdtmwr*vbilecsxdtmwar a*vbilecsxdtmwar: xxhash64
vilsx*vi: hll_sketch_agg
vx*vb: hll_union_agg
vsx*vilecs: sha2
vilesxa*vi: theta_sketch_agg
vx*vi: theta_union_agg
v*vilecdtmw i*vilecsd lec*vilecs s*ilecw d*vimw t*vmw m*vdtm w*vsdtw: try_add
v*vilec ilecmw*vilecs s*ilec: try_divide
v*vilecmw ilec*vilecsmw s*ilecmw mw*vilecs: try_multiply
v*vilecdtmw ilec*vilecs s*ilecdtw d*visdtmw t*vsdtmw m*vm w*vw: try_subtract
"""
"""Kinds of the first argument, and of the second one beside it: the functions, called with two.
FLOAT is as DOUBLE, and TIMESTAMP_NTZ as TIMESTAMP."""
_BESIDE_CONSTANT = """
vilecsdt: to_char to_varchar
vilecsmw: percentile percentile_cont percentile_disc
vilecsdtmw: approx_percentile histogram_numeric percentile_approx
vilecs: bround ceil ceiling floor round
vs: from_csv from_json from_xml xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long
    xpath_number xpath_short xpath_string
va: sort_array
"""
"""Kinds of the first argument of two, the second of which is a constant or not known here: the
functions."""
_THIRD = """
vilfecs: conv levenshtein locate make_date make_dt_interval make_interval overlay position
    regexp_extract regexp_extract_all regexp_instr split split_part substr substring
    substring_index try_make_interval
vbilfecsxdtnmw: elt lpad regexp_replace replace rpad sentences translate
vbs: months_between
vs: array_join
"""
"""Kinds of the third argument: the functions, called with three."""
_CONSTANT = """
0: date_part datepart rand randn random schema_of_csv schema_of_json schema_of_xml stack uuid
1: any_value approx_count_distinct approx_percentile approx_top_k
    approx_top_k_accumulate bround ceil ceiling collate first first_value
    floor from_csv from_json from_xml histogram_numeric last last_value listagg mode percentile
    percentile_approx round schema_of_json schema_of_xml sort_array string_agg to_binary to_csv
    to_json to_number to_xml try_to_binary try_to_number xpath xpath_boolean xpath_double
    xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string
"""
"""The place of an argument that has to be a constant: the functions."""


def misfit(name: str, types: Sequence[DataType], varying: Sequence[bool]) -> str:
    """Say why Spark does not take a call of a function; empty if it does, or if that is not known.
    ``varying``: which arguments read a column."""
    count = len(types)
    taken = numbers().get(name)
    if taken is not None and count not in taken:
        return f"takes {_said(taken)} arguments, not {count}"
    for place in _constants().get(name, ()):
        if place < count and varying[place]:
            return f"takes a constant as argument {place + 1}"
    kinds = [kind_of(type_) for type_ in types]
    if not all(kinds):
        return ""
    if count == 1 and kinds[0] not in of_one().get(name, kinds[0]):
        return f"does not take {types[0]}"
    alike = [_ALIKE.get(kind, kind) for kind in kinds]
    if count == 2 and alike[0] not in of_first().get(name, alike[0]):
        return f"does not take {types[0]} as its first argument"
    if (pairs := _pairs(name, count)) is not None and alike[0] + alike[1] not in pairs:
        return f"does not take {types[0]} and {types[1]}"
    if count == 3 and kinds[2] not in of_third().get(name, kinds[2]):
        return f"does not take {types[2]} as its third argument"
    return ""


def _pairs(name: str, count: int) -> frozenset[str] | None:
    """The kinds that a function takes as its first two of ``count``, where that is known."""
    may_be_two = 2 in numbers().get(name, ())
    is_alike = count == 2 or (count == 3 and may_be_two and name not in _OTHER_THREE)
    return of_two().get(name) if is_alike else None


WITHOUT_DISTINCT = frozenset("mode percentile_cont percentile_disc".split())  # noqa: SIM905
"""Aggregate functions that take no DISTINCT."""
_OTHER_THREE = frozenset({"convert_timezone", "decode"})
"""Functions of two or three arguments whose first two of three are others than those of two."""
_ALIKE = {"f": "e", "n": "t"}
_MOST = 1_000_000


@cache
def numbers() -> dict[str, range | tuple[int, ...]]:
    """Return, by function, of how many arguments it is."""
    return {name: _range(key) for key, names in _lines(_NUMBERS) for name in names}


@cache
def of_one() -> dict[str, str]:
    """Return, by function, the kinds that it takes, called with one argument."""
    return {name: kinds for kinds, names in _lines(_ONE) for name in names}


@cache
def of_first() -> dict[str, str]:
    """Return, by function, the kinds of the first of two arguments."""
    return {name: kinds for kinds, names in _lines(_BESIDE_CONSTANT) for name in names}


@cache
def of_third() -> dict[str, str]:
    """Return, by function, the kinds of the third of three arguments."""
    return {name: kinds for kinds, names in _lines(_THIRD) for name in names}


@cache
def of_two() -> dict[str, frozenset[str]]:
    """Return, by function, the pairs of kinds that it takes, called with two arguments."""
    found = {}
    for key, names in _lines(_TWO):
        products = (product.split("*") for product in key.split())
        pairs = frozenset(a + b for one, other in products for a in one for b in other)
        found.update(dict.fromkeys(names, pairs))
    return found


@cache
def _constants() -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place, names in _lines(_CONSTANT):
        for name in names:
            found.setdefault(name, []).append(int(place))
    return found


def _lines(table: str) -> Iterator[tuple[str, list[str]]]:
    for line in table.replace("\n    ", " ").strip().split("\n"):
        key, _, names = line.partition(": ")
        yield key, names.split()


def _range(key: str) -> range | tuple[int, ...]:
    least, to, most = key.partition("-")
    if to:
        return range(int(least), int(most or _MOST) + 1)
    return tuple(int(number) for number in key.split(","))


def _said(numbers: range | tuple[int, ...]) -> str:
    if isinstance(numbers, tuple):
        return " or ".join(str(number) for number in numbers)
    most = "more" if numbers[-1] == _MOST else str(numbers[-1])
    return f"{numbers[0]} or {most}" if most == "more" else f"{numbers[0]} to {most}"
