"""What looks like a template in the text of a query, and the parameter to use instead.

Nothing fills templates in: ``LIKE '{{ ds }}%'`` would compare with these very letters, find no row,
and an empty report would be published without a word. Spark itself replaces ``${env:NAME}`` in a
text by what its environment holds, so that a secret could be read; our sessions have that switched
off, and the text is refused.
"""

from __future__ import annotations

import re

from sqlglot.tokenizer_core import Token, TokenType

from forerun.planner.sql.syntax.text import QueryText

_NAMES = (
    "ds", "ds_nodash", "ts", "ts_nodash", "ts_nodash_with_tz", "date", "day", "month", "year",
    "yyyy", "mm", "dd", "today", "yesterday", "tomorrow", "report_date", "report_day",
    "report_start", "report_end", "run_date", "run_id", "logical_date", "execution_date",
    "data_interval_start", "data_interval_end", "start_date", "end_date", "prev_ds", "next_ds",
    "yesterday_ds", "tomorrow_ds", "dag_run", "params", "macros", "var", "conn", "task_instance",
    "ti",
)  # fmt: skip
"""Names that schedulers and scripts fill in. Other words in braces, such as the ``{id}`` of a URL
pattern, are text."""
_NAME = rf"(?:{'|'.join(_NAMES)})(?:[.:\[!][^{{}}()]*)?"
_IN_STRINGS = re.compile(
    r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}"  # Jinja
    r"|\$\{[^{}]*\}"  # shells, Spark's own substitution
    rf"|\{{\s*{_NAME}\s*\}}"  # str.format
    rf"|%\(\s*{_NAME}\s*\)[sdr]",  # DB-API
    re.DOTALL,
)
_OF_SPARK = re.compile(r"\$\{[^{}]*\}")
_QUOTED_PARAMETER = re.compile(r":report_(?:date|start|end)\b")
_STRINGS = frozenset({
    TokenType.STRING, TokenType.RAW_STRING, TokenType.HEREDOC_STRING, TokenType.NATIONAL_STRING,
    TokenType.UNICODE_STRING, TokenType.BYTE_STRING,
})  # fmt: skip
_BRACES = frozenset({TokenType.L_BRACE, TokenType.BLOCK_START})
HINT = (
    "Nothing fills it in. Use a parameter: :report_date (a DATE), or :report_start and "
    ":report_end (the TIMESTAMPs at which the day begins and ends), without quotes. As text: "
    "date_format(:report_date, 'yyyyMMdd'); in a pattern: LIKE concat(:report_date, '%')."
)


def refuse_templates(text: QueryText, tokens: list[Token]) -> None:
    """Raise :class:`forerun.planner.errors.SqlError` at the first thing that looks like a
    template."""
    if found := _OF_SPARK.search(text.sql):
        # Also in a comment: Spark replaces it there, too, and a line break would end the comment.
        raise text.error_at(found.start(), f"{found[0]} looks like a template", HINT)
    for token in tokens:
        if token.token_type in _BRACES:
            end = text.sql.find("}", token.start)
            shown = text.sql[token.start : end + 1] if end > 0 else "{"
            raise text.error_at(token.start, f"{_whole(text.sql, token.start) or shown} "
                                "looks like a template", HINT)  # fmt: skip
        if token.token_type in _STRINGS:
            _check_string(text, token)


def _check_string(text: QueryText, token: Token) -> None:
    if found := _IN_STRINGS.search(token.text):
        raise text.error_at(token.start, f"{found[0]} looks like a template", HINT)
    if found := _QUOTED_PARAMETER.search(token.text):
        raise text.error_at(
            token.start,
            f"the parameter {found[0]} is inside quotes, where it is text",
            f"Write {found[0]} without quotes; in a pattern, LIKE concat({found[0]}, '%').",
        )


def _whole(sql: str, start: int) -> str:
    found = _IN_STRINGS.match(sql, start)
    return found[0] if found else ""
