"""What a page shows in addition to the claim, loaded by the same statement.

The SQL of a detail is in the `store` module whose rows it reads. This SQL is nested in the
statement of all pages, where `s` is the session's row and $2 the id in the page's address.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Generic, TypeVar
from uuid import UUID

import msgspec

from dunwell.cases.modalities.store import LOAD_LIVE, LOAD_UNSUCCESSFUL
from dunwell.platform.database.sql import load_statement, nest_row
from dunwell.platform.errors import NotFound

# The parameters of nested statements: the merchant and the claim of the session.
KEY = ("s.merchant_id", "s.claim_id")
_Shape = TypeVar("_Shape")
_compose = partial(
    load_statement,
    __file__,
    "opened.sql",
    live_modality=nest_row(LOAD_LIVE, "s.merchant_id", "ARRAY[s.claim_id]"),
    unsuccessful_modality=nest_row(LOAD_UNSUCCESSFUL, *KEY),
)
_compose_page = partial(_compose, session="debtor_sessions", found="s.session_hash = $1")
# The same statement for a claim ($1, $2) without a session, as a session of the level $3 would see
# it.
PREVIEW = _compose(
    detail="NULL",
    session="""(
    SELECT $1::integer AS merchant_id, $2::bigint AS claim_id, $3::text AS level,
           $4::timestamptz AS opened_at, $4::timestamptz AS first_opened_at,
           $4::timestamptz + interval '1 hour' AS expires_at, NULL::timestamptz AS ended_at,
           ''::bytea AS session_hash, gen_random_uuid() AS session_id,
           NULL::uuid AS communication_id, NULL::text AS channel,
           '{}'::bytea[] AS proven_digests, NULL::bytea AS previous_hash)""",
    found="true",
)


class Detail(Generic[_Shape]):
    """A detail of the type `_Shape`. `statement` is the statement of a page that shows it, and
    `parameter` is the name of the id in the page's address, or "" if the claim has only one."""

    def __init__(self, expression: str, shape: Any, parameter: str = "", missing: str = "") -> None:
        """`shape` is `_Shape`, which may be a union. `missing` is the text of NotFound, or "" if
        the page accepts a missing detail."""
        self.statement = _compose_page(detail=expression)
        self.parameter = parameter
        self._missing = missing
        self._decoder = msgspec.json.Decoder(shape)

    def list_arguments(self, parameters: Mapping[str, str]) -> tuple[UUID | None, ...]:
        """Return the statement's arguments after the session, taken from the address. An invalid id
        becomes None."""
        if not self.parameter:
            return ()
        try:
            return (UUID(parameters[self.parameter]),)
        except ValueError:
            return (None,)

    def decode(self, document: msgspec.Raw) -> _Shape:
        """Decode the detail. Raises NotFound if it does not exist or belongs to another claim."""
        if self._missing and bytes(document) == b"null":
            raise NotFound(self._missing)
        decoded: _Shape = self._decoder.decode(document)
        return decoded


NOTHING: Detail[None] = Detail("NULL", None)
