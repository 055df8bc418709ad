"""A call of every function whose type :mod:`forerun.planner.algebra.functions` claims to know.

Spark is asked for the type of each (``tests/spark/test_sql_on_spark.py``); that none is missing is
looked at without Spark (``tests/planner/algebra/test_functions.py``).
"""

from __future__ import annotations

_TEXT = """
concat_ws(',', c, 'x'); upper(c); ucase(c); lower(c); lcase(c); trim(c); btrim(c); ltrim(c);
rtrim(c); trim(both 'x' from c); trim(leading 'x' from c); trim(trailing 'x' from c);
substring(c, 1, 2); substr(c, 1); substring_index(c, 'x', 1); lpad(c, 3, 'x'); rpad(c, 3, 'x');
repeat(c, 2); replace(c, 'a', 'b'); regexp_replace(c, 'a', 'b'); regexp_extract(c, '(a)', 1);
regexp_substr(c, 'a'); initcap(c); translate(c, 'a', 'b'); format_number(a, 2);
format_string('%s', c); printf('%s', c); date_format(f, 'yyyy'); from_unixtime(b); md5(c); sha(c);
sha1(c); sha2(c, 256); chr(a); char(a); hex(a); base64(c); soundex(c); space(a); to_json(null);
split_part(c, 'x', 1); get_json_object(c, '$.a'); typeof(a); decode(unhex('41'), 'UTF-8');
dayname(f); monthname(f); current_user(); overlay(c placing 'x' from 1); left(c, 1); right(c, 1);
elt(1, c, 'x'); url_encode(c); url_decode(c); bin(b); version(); uuid(); length(c);
char_length(c); character_length(c); len(c); octet_length(c); bit_length(c); ascii(c);
instr(c, 'x'); locate('x', c); position('x' in c); year(f); quarter(f);
month(f); day(f); dayofmonth(f); dayofweek(f); weekday(f); dayofyear(f); weekofyear(f); hour(g);
make_dt_interval(a, 2); make_ym_interval(1);
minute(g); second(g); datediff(f, f); date_diff(f, f); levenshtein(c, c); find_in_set(c, 'a,b');
size(array(1)); array_size(array(1)); cardinality(array(1)); regexp_count(c, 'a');
regexp_instr(c, 'a'); hash(a, c); unix_date(f); bit_count(a);
xxhash64(a); crc32(c); unix_timestamp(g);
to_unix_timestamp(g); unix_seconds(g); unix_millis(g); unix_micros(g); factorial(a);
monotonically_increasing_id(); array_position(array(1), 1); timestampdiff(hour, g, g);
datediff(day, f, f); sqrt(a); cbrt(a); exp(a); expm1(a); ln(a); log(a); log10(a); log2(a); log1p(a);
pow(a, 2); power(a, 2); sin(a); cos(a); tan(a); cot(a); asin(a); acos(a); atan(a); atan2(a, b);
sinh(a); cosh(a); tanh(a); asinh(a); acosh(a); atanh(a); degrees(a); radians(a); pi(); e();
rand(); randn(); random(); months_between(f, f); hypot(a, b); rint(e); signum(a); sign(a); sec(a);
uniform(0, 10); uniform(0.5, 10, 5);
csc(a); isnull(a); isnotnull(a); isnan(e); like(c, 'x'); ilike(c, 'x'); rlike(c, 'x');
regexp(c, 'x'); regexp_like(c, 'x'); startswith(c, 'x'); endswith(c, 'x'); contains(c, 'x');
array_contains(array(1), 1); equal_null(a, b); to_date(c); to_date(c, 'yyyy'); add_months(f, 1);
last_day(f); next_day(f, 'MO'); trunc(f, 'MM'); current_date(); curdate();
struct(current_date, a); (a, CURRENT_TIMESTAMP); struct(current_date()); make_date(2020, 1, 1);
date_from_unix_date(1); to_timestamp(c); date_trunc('day', g); current_timestamp(); now();
from_utc_timestamp(g, 'UTC'); to_utc_timestamp(g, 'UTC'); timestamp_seconds(a);
timestamp_millis(b); timestamp_micros(b); unhex('41'); encode(c, 'UTF-8'); unbase64(c);
to_binary(c); abs(a); abs(d); abs(e); negative(a); negative(d); positive(a); nullif(a, 1);
reverse(c); coalesce(a, b); coalesce(a, d); nvl(a, 1); ifnull(d, 1); greatest(a, b, d);
least(a, e); ceil(a); ceil(d); ceil(e); ceiling(b);
ceil(e, 2); ceil(d, -1); floor(a, 1); floor(cast(a as float), 3); ceiling(cast(a as smallint), -4);
dateadd(month, 1, f); date_add(hour, 2, g); timestampadd(day, a, c); date_part('second', g);
date_part('dow_iso', f); extract(s from g); datepart('yearofweek', f);
date_part('hours', interval 1 hour); extract(months from interval 14 month);
date_part('days', interval 1 day); extract(seconds from interval 90 second);
dateadd(month, 1, cast(g as timestamp_ntz)); floor(a); floor(d); floor(e); round(a);
round(a, -1); round(d); round(d, 1); round(d, 5); round(d, -1); round(d, -3); round(e, 2);
bround(d, 1); mod(a, b); mod(d, 3); pmod(a, 2); pmod(d, d); a div b; date_add(f, 1);
date_sub(f, 1); dateadd(f, 1); nvl2(a, b, 1); if(a > 1, a, d); concat(c, a); c || a; a + b; a - d;
a * d; d / 3; d % 2; b / a; d * d * d * d; d / d / d; d + 1.000000000000001; -d; e + d;
cast(d as decimal(38, 10)) * cast(d as decimal(38, 10)); cast(d as decimal(38, 2)) / 7;
cast(d as decimal(38, 20)) + cast(d as decimal(38, 2)); cast(a as smallint) + cast(a as tinyint);
cast(a as float) + a; cast(a as float) * cast(a as float); f + 1; f - interval 1 month;
f + interval 1 day; f + interval 2 hour; g + interval 1 day; g - g; f - f; interval 1 day * 2;
interval 2 month / 2; interval 1 day + interval 2 hour; sum(a); sum(d); sum(e); avg(a); avg(d);
avg(e); min(f); max(c); count(a); stddev(a); variance(d); corr(a, b); first(c); any_value(d);
bool_and(h); every(h); approx_count_distinct(a); skewness(a); kurtosis(a); covar_pop(a, b);
sum(d * d); avg(d * d * d); sum(cast(a as smallint)); avg(cast(d as decimal(38, 10)));
sum(cast(d as decimal(38, 10))); mode(a); count_if(h); max_by(a, b);
std(a); stddev_pop(d); var_samp(e); covar_samp(a, b); some(h);
any(h); bool_or(h); mean(d); min_by(c, a); first_value(c); last_value(f); bit_and(a); bit_xor(b);
bit_or(a); array_join(array('a'), ','); quote(c); parse_url(c, 'HOST'); to_char(f, 'yyyy');
to_varchar(f, 'yyyy'); to_csv(named_struct('a', 1)); to_xml(named_struct('a', 1));
try_parse_url(c, 'HOST'); conv(c, 10, 2); make_valid_utf8(c); mask(c); validate_utf8(c);
xpath_string('<a/>', 'a'); try_url_decode(c); arrays_overlap(array(1), array(2));
is_valid_utf8(c); luhn_check(c); map_contains_key(map('a', 1), 'a'); xpath_boolean('<a/>', 'a');
bitmap_bit_position(b); bitmap_bucket_number(b); bitmap_count(cast(c as binary));
hll_sketch_estimate(cast(c as binary)); theta_sketch_estimate(cast(c as binary));
xpath_long('<a>1</a>', 'a'); xpath_double('<a>1</a>', 'a'); xpath_number('<a>1</a>', 'a');
nanvl(e, e); try_to_date(c); to_timestamp_ltz(c); make_timestamp(2020, 1, 1, 1, 1, 1);
make_timestamp_ltz(2020, 1, 1, 1, 1, 1); try_make_timestamp(2020, 1, 1, 1, 1, 1);
try_to_timestamp(c); try_make_timestamp_ltz(2020, 1, 1, 1, 1, 1); try_to_binary(c);
hll_union(cast(c as binary), cast(c as binary)); make_timestamp_ntz(2020, 1, 1, 1, 1, 1);
theta_union(cast(c as binary), cast(c as binary)); to_timestamp_ntz(c); split(c, 'a');
try_make_timestamp_ntz(2020, 1, 1, 1, 1, 1); regexp_extract_all(c, '(a)', 1);
json_object_keys(c); xpath('<a/>', 'a'); abs(c); negative(c); reverse(a);
left(cast(c as binary), 1); lpad(cast(c as binary), 3, cast(c as binary));
collect_list(a); collect_set(d); named_struct('a', a, 'b c', array(d)); struct(a, c as n, d + 1);
array(a, b); map('k', a); map_from_arrays(array(a), array(c)); map_keys(map(a, c)); array()[0];
map_from_entries(array(named_struct('k', a, 'v', c))); map_concat(map(a, c), map(a, c));
map_entries(map(a, c)); map_values(map(a, c)); str_to_map(c); element_at(array(a), 1);
element_at(map(c, d), 'x'); try_element_at(array(c), 1); get(array(a), 0); array_min(array(d));
array_max(array(c)); flatten(array(array(a))); array_distinct(array(a)); sort_array(array(c));
array_sort(array(a)); array_compact(array(a)); slice(array(a), 1, 1); shuffle(array(a));
array_append(array(a), 1); array_prepend(array(a), 1); array_remove(array(a), 1);
array_insert(array(a), 1, 2); array_union(array(a), array(1)); array_repeat(c, 2);
array_intersect(array(a), array(1)); array_except(array(a), array(1)); sequence(1, a);
sequence(f, f + 3); sequence(f, f, interval 1 month); concat(array(a), array(1)); array(a)[0];
map(c, d)['x']; named_struct('a', a).A; array(named_struct('a', a)).a; struct(c)['c'];
array(named_struct('a', 1), named_struct('a', b)); coalesce(array(a), array(b));
(a, b + 1); max((a, b)).a; sequence(f, g, interval 1 day); sequence(1, b, 2L); sequence(g, f);
from_json(c, 'array<int>'); from_json(c, 'x INT, y MAP<STRING, DOUBLE>').y;
from_json(c, 'struct<x: int>', map('mode', 'PERMISSIVE')); from_json(c, 'map<string, date>');
try_add(a, b); try_subtract(d, a); try_multiply(d, d); try_divide(a, b); try_divide(d, 3);
try_divide(e, a); try_mod(a, 3); try_mod(d, 2); try_add(1, 2.5); try_divide(sum(a), count(*));
json_array_length(c); xpath_int('<a>1</a>', 'a'); width_bucket(e, 0.0, 10.0, 4); bit_get(a, 1);
getbit(b, 0); try_validate_utf8(c); convert_timezone('UTC', to_timestamp_ntz(c)); nullifzero(a);
nullifzero(d); zeroifnull(a); zeroifnull(b); zeroifnull(e);
transform(array(a), x -> x * 2.5); transform(array(c), (x, i) -> i); filter(array(a), x -> x > b);
exists(array(a), x -> x > 1); forall(array(d), x -> x > 1);
aggregate(array(a), cast(0 as bigint), (s, x) -> s + x);
aggregate(array(a), 0L, (s, x) -> s + x, s -> s / 2); reduce(array(a), 0L, (s, x) -> s + x);
zip_with(array(a), array(c), (x, y) -> concat(x, y)); map_filter(map(c, a), (k, v) -> v > 1);
transform_keys(map(c, a), (k, v) -> v); transform_values(map(c, a), (k, v) -> v + b);
map_zip_with(map(c, a), map(c, d), (k, x, y) -> x + y);
array_sort(array(a), (x, y) -> y - x)
"""
CALLS = tuple(part.strip() for part in _TEXT.replace("\n", " ").split(";"))
