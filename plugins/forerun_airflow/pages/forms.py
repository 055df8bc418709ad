"""The token of a form: only who has seen the page can send it, for that day, once, and soon.

Airflow knows its users by a cookie, which a browser sends along whatever page a form is on. So a
form that changes something carries a token, signed with the key that all API servers share, which
no other page can know.
"""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from fastapi import HTTPException, Request
from itsdangerous import BadSignature, URLSafeTimedSerializer

from forerun.airflow.pages import AIRFLOW

_VALID_S = 1800
_MOST_BYTES = 16 << 10
_MOST_FIELDS = 16
_PURPOSE = "forerun-action"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The subject of a form: who may send it, and for which generation of which day. ``id`` is new
    for every page, so a form that is sent twice is known."""

    user: str
    report: str
    day: str
    generation: str
    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    def token(self, request: Request) -> str:
        return _signer(request).dumps(asdict(self))


def read_form(request: Request, token: str) -> Form | None:
    """The form that a token is of, None for one that was not made here, or not lately."""
    try:
        said: Any = _signer(request).loads(token, max_age=_VALID_S)
    except BadSignature:
        return None
    return Form(**said)


async def read_fields(request: Request) -> dict[str, str]:
    """Return the fields of a form that was sent.

    A handler calls it after it knows who asks, and no more than :data:`_MOST_BYTES` are ever held:
    the framework would parse any body before it asks for a login. Answers 413 to a larger one, and
    415 to what is no form of these pages.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("", "application/x-www-form-urlencoded"):
        raise HTTPException(415)
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > _MOST_BYTES:
            raise HTTPException(413)
    try:
        return dict(parse_qsl(data.decode(), max_num_fields=_MOST_FIELDS))
    except ValueError:  # too many fields, or no UTF-8
        raise HTTPException(400) from None


def _signer(request: Request) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(request.scope[AIRFLOW].state.secret_key, salt=_PURPOSE)
