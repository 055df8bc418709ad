"""The queries that Spark 4.1 reads, as rules over words and signs.

sqlglot reads what any engine takes, and over much that none does: a list that ends in a comma, IN
without its list, ON without a condition. So a text is first compared with these rules
(:mod:`forerun.planner.sql.syntax.recognizer`), which say nothing of how operators bind: what they
refuse, Spark refuses, and what they take and sqlglot does not is ours to be sorry for.

A rule is what stands between its name and the next one. Words in capitals and signs in quotes stand
for themselves, words in small letters for rules; ``[x]`` may be left out, ``{x}`` may follow itself
any number of times, ``x | y`` is one of both, ``x % y`` is one or more of ``x`` with ``y`` between
them. These stand for tokens: ``NAME`` for any word or quoted name, ``ALIAS`` for one that no join
begins with, ``STRING``, ``INTEGER`` and ``NUMBER`` for literals, ``SHIFT`` for ``<<``, ``>>`` or
``>>>``, ``MARK`` for the type of a literal, ``TYPE`` for the name of a
type that has no size and holds no other one, ``UNIT`` and ``FIELD`` for what
an interval is counted in.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


JOINING = _words(
    "ANTI CROSS EXCEPT FULL INNER INTERSECT JOIN LATERAL LEFT NATURAL ON RIGHT SEMI MINUS UNION "
    "USING"
)
"""Words that are no alias of a table, since a clause of FROM begins with them."""
LITERAL_TYPES = _words("DATE TIMESTAMP TIMESTAMP_LTZ TIMESTAMP_NTZ INTERVAL X")
"""Words that stand before a string and say of what type it is."""
PLAIN_TYPES = _words(
    "BOOLEAN TINYINT BYTE SMALLINT SHORT INT INTEGER BIGINT LONG FLOAT REAL DOUBLE BINARY DATE "
    "TIMESTAMP TIMESTAMP_NTZ TIMESTAMP_LTZ VOID INTERVAL VARIANT"
)
TYPES = PLAIN_TYPES | _words("DECIMAL DEC NUMERIC STRING CHAR CHARACTER VARCHAR ARRAY MAP STRUCT")
"""The types that Spark 4.1 has a word for. TIME is not there: it is off unless it is asked for."""

QUERIES = """
query = [with] terms tail
with = WITH [RECURSIVE] (cte % ',')
cte = NAME [names] [MAX RECURSION LEVEL INTEGER] [AS] '(' query ')'
terms = term {setword term | '|>' piped}
setword = (UNION | EXCEPT | MINUS | INTERSECT) [ALL | DISTINCT]
term = selected [from] rest | from {frombody} | transformed [from] rest | TABLE reference | values
     | '(' query ')'
frombody = (selected | transformed) rest tail
transformed = (SELECT TRANSFORM '(' [DISTINCT | ALL] exprs ')' | (MAP | REDUCE) exprs) USING STRING
              [AS (names | NAME % ',')]
selected = SELECT {hint} [DISTINCT | ALL] items
rest = {view} [WHERE expr] [grouped] [HAVING expr] [windows]
tail = [ORDER BY sorts] [CLUSTER BY exprs] [DISTRIBUTE BY exprs] [SORT BY sorts] [windows]
       [LIMIT (ALL | expr)] [OFFSET expr]
piped = selected [windows] | EXTEND items | SET ((parts '=' expr) % ',') | DROP (NAME % ',')
      | AS NAME | WHERE expr | pivot | unpivot | sample | join | setword term | tail
      | AGGREGATE [items] [grouped]
items = item % ','
item = expr [[AS] (NAME | names)]
exprs = expr % ','
sorts = sort % ','
sort = expr [ASC | DESC] [NULLS (FIRST | LAST)]
names = '(' (NAME % ',') ')'
parts = NAME % '.'
reference = IDENTIFIER '(' expr ')' | parts
hint = '/*+' (NAME ['(' (primary % ',') ')'] {[','] NAME ['(' (primary % ',') ')']}) '*/'

from = FROM (relation % ',') {view} [pivot] [unpivot]
relation = [LATERAL] table {join | pivot | unpivot}
join = joined JOIN [LATERAL] table [ON expr | USING names] | NATURAL alike JOIN [LATERAL] table
joined = [CROSS] | alike
alike = [INNER | LEFT [OUTER] | [LEFT] SEMI | RIGHT [OUTER] | FULL [OUTER] | [LEFT] ANTI]
table = reference [travel] [WITH options] [sample] alias | '(' query ')' [sample] alias
      | '(' relation ')' [sample] alias | values | called '(' [given % ','] ')' alias
options = '(' (((parts | STRING) ['=' (STRING | INTEGER | NUMBER | TRUE | FALSE)]) % ',') ')'
alias = [[AS] ALIAS [names]]
values = VALUES exprs alias
travel = [FOR] (SYSTEM_VERSION | VERSION) AS OF (INTEGER | STRING)
       | [FOR] (SYSTEM_TIME | TIMESTAMP) AS OF value
sample = TABLESAMPLE '(' [['-'] (INTEGER | NUMBER) PERCENT | expr ROWS
       | BUCKET INTEGER OUT OF INTEGER [ON (parts ['(' ')'])]] ')' [REPEATABLE '(' INTEGER ')']
view = LATERAL VIEW [OUTER] parts '(' [exprs] ')' NAME [[AS] (NAME % ',')]
pivot = PIVOT '(' items FOR (NAME | names) IN '(' ((expr [[AS] NAME]) % ',') ')' ')'
unpivot = UNPIVOT [(INCLUDE | EXCLUDE) NULLS] '(' unpivoted ')' [[AS] NAME]
unpivoted = NAME FOR NAME IN '(' ((parts [[AS] NAME]) % ',') ')'
          | names FOR NAME IN '(' (('(' (parts % ',') ')' [[AS] NAME]) % ',') ')'
grouped = GROUP BY (groupitem % ',') | GROUP BY exprs [WITH (ROLLUP | CUBE) | GROUPING SETS sets]
groupitem = (ROLLUP | CUBE) sets | GROUPING SETS '(' ((groupitem | set) % ',') ')' | expr
sets = '(' (set % ',') ')'
set = '(' [exprs] ')' | expr
windows = WINDOW ((NAME AS window) % ',')
window = NAME | '(' NAME ')' | '(' (CLUSTER BY exprs | ordered) [frame] ')'
ordered = [(PARTITION | DISTRIBUTE) BY exprs] [(ORDER | SORT) BY sorts]
frame = (RANGE | ROWS) (bound | BETWEEN bound AND bound)
bound = UNBOUNDED (PRECEDING | FOLLOWING) | CURRENT ROW | expr (PRECEDING | FOLLOWING)

expr = condition % (AND | OR)
condition = {NOT | '!'} (EXISTS '(' query ')' | value [predicate])
predicate = [NOT] matched | IS [NOT] (NULL | TRUE | FALSE | UNKNOWN | DISTINCT FROM value)
matched = BETWEEN value AND value | IN '(' (exprs | query) ')' | (RLIKE | REGEXP) value
        | (LIKE | ILIKE) ((ANY | SOME | ALL) '(' [exprs] ')' | value [ESCAPE STRING])
value = signed % operator
operator = '*' | '/' | '%' | DIV | '+' | '-' | '||' | SHIFT | '&' | '^' | '|' | '=' | '<>' | '<'
         | '<=' | '>' | '>=' | '<=>'
signed = {'-' | '+' | '~'} primary
primary = atom {'.' NAME | ':' (NAME | '[' value ']') | '[' value ']' | '::' type | COLLATE parts}
atom = CASE [expr] when {when} [ELSE expr] END | (CAST | TRY_CAST) '(' expr AS type ')'
     | STRUCT '(' [items] ')' | (FIRST | ANY_VALUE | LAST) '(' expr [IGNORE NULLS] ')'
     | POSITION '(' value IN value ')' | EXTRACT '(' NAME FROM value ')'
     | (SUBSTR | SUBSTRING) '(' value (FROM | ',') value [(FOR | ',') value] ')'
     | TRIM '(' [BOTH | LEADING | TRAILING] [value] FROM value ')'
     | OVERLAY '(' value PLACING value FROM value [FOR value] ')'
     | '*' [except] | parts '.' '*' [except] | interval | MARK STRING | STRING {STRING}
     | INTEGER | NUMBER | '?' | ':' NAME | call | NAME | NAME '->' expr
     | '(' (NAME % ',') ')' '->' expr | '(' query ')' | '(' expr ')' | '(' item ',' items ')'
except = EXCEPT '(' (parts % ',') ')'
when = WHEN expr THEN expr
call = called '(' [[DISTINCT | ALL] (argument % ',')] ')' [WITHIN GROUP '(' ORDER BY sorts ')']
       [FILTER '(' WHERE expr ')'] [(IGNORE | RESPECT) NULLS] [OVER window]
called = IDENTIFIER '(' expr ')' | parts
argument = expr | NAME '=>' expr
given = argument | whole | NAME '=>' whole
whole = TABLE (reference | '(' (reference | query) ')') [splitting]
splitting = (WITH SINGLE PARTITION | (PARTITION | DISTRIBUTE) BY ('(' exprs ')' | expr))
            [(ORDER | SORT) BY ('(' sorts ')' | sort)]
interval = INTERVAL (length UNIT {length UNIT} | length FIELD TO FIELD)
length = ['+' | '-'] (INTEGER | NUMBER | STRING)
type = ARRAY '<' type '>' | MAP '<' type ',' type '>' | STRUCT ('<' [field % ','] '>' | '<>')
     | INTERVAL (YEAR | MONTH) [TO MONTH]
     | INTERVAL (DAY | HOUR | MINUTE | SECOND) [TO (HOUR | MINUTE | SECOND)]
     | (DECIMAL | DEC | NUMERIC) ['(' INTEGER [',' INTEGER] ')'] | STRING_TYPE [COLLATE parts]
     | (VARCHAR | CHAR | CHARACTER) '(' INTEGER ')' | TYPE | TIMESTAMP WITHOUT TIME ZONE
field = NAME [':'] type [NOT NULL] [COMMENT STRING]
"""

UNITS = frozenset(
    f"{unit}{more}"
    for unit in _words("NANOSECOND MICROSECOND MILLISECOND SECOND MINUTE HOUR DAY WEEK MONTH YEAR")
    for more in ("", "S")
)
"""What an interval is written in, one number after the other."""
FIELDS = _words("SECOND MINUTE HOUR DAY MONTH YEAR")
"""Between which an interval reaches that is written as one text."""
