"""The claim that a session has opened, with all that its pages show, in one statement."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import find_cached, load_merchant
from dunwell.cases.modalities.modality import Modality
from dunwell.cases.modalities.store import ModalityRow, read_modality
from dunwell.interfaces.landing.session.details import NOTHING, PREVIEW, Detail
from dunwell.interfaces.landing.session.facts import ClaimFacts
from dunwell.interfaces.landing.session.session import Level, Session
from dunwell.platform.database.database import Connection


class OpenedClaim(msgspec.Struct, frozen=True, gc=False):
    """A session with all that its pages show."""

    session: Session
    merchant: Merchant
    facts: ClaimFacts
    # The one that has not ended.
    modality: Modality | None = None
    # The newest, if it is a plan that broke or a request that was refused.
    unsuccessful: Modality | None = None
    # The subjects of what was typed for it and is kept.
    drafts: list[str] = []
    # Of the page's own (`details`), for it to read.
    detail: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def debtor_key(self) -> tuple[int, int]:
        """Who is one sender in queues: the debtor of one claim, not all debtors of a merchant."""
        return self.session.merchant_id, self.session.claim_id


class MerchantRow(msgspec.Struct, array_like=True, gc=False):
    merchant_id: int
    key: str
    name: str
    switched_to_workflows: bool
    revision: int
    sandbox_now: datetime | None


class _Opened(msgspec.Struct, gc=False):
    merchant: MerchantRow
    session: Session
    drafts: list[str]
    facts: ClaimFacts
    modality: ModalityRow | None
    unsuccessful: ModalityRow | None
    detail: msgspec.Raw


_DECODER = msgspec.json.Decoder(_Opened)


async def load_opened_claim(
    tx: Connection, session_hash: bytes, detail: Detail[Any] = NOTHING, *ids: UUID | None
) -> OpenedClaim | None:
    """The session, also when it has ended, its claim, and what else its page shows, in one
    statement. ids: the detail's arguments."""
    document: str | None = await tx.fetchval(detail.statement, session_hash, *ids)
    return None if document is None else await _read(tx, document)


async def load_previewed_claim(
    tx: Connection, merchant_id: int, claim_id: int, level: Level, now: datetime
) -> OpenedClaim | None:
    """As if somebody had opened it, which nobody has. now: real time."""
    document: str | None = await tx.fetchval(PREVIEW, merchant_id, claim_id, level, now)
    return None if document is None else await _read(tx, document)


async def _read(tx: Connection, document: str) -> OpenedClaim:
    opened = _DECODER.decode(document)
    return OpenedClaim(
        session=opened.session,
        merchant=await find_merchant(tx, opened.merchant),
        facts=opened.facts,
        modality=None if opened.modality is None else read_modality(opened.modality),
        unsuccessful=None if opened.unsuccessful is None else read_modality(opened.unsuccessful),
        drafts=opened.drafts,
        detail=opened.detail,
    )


async def find_merchant(tx: Connection, row: MerchantRow) -> Merchant:
    """With the configuration the process keeps, or read anew when there is another one."""
    cached = find_cached(row.merchant_id)
    if cached.configuration is not None and cached.revision == row.revision:
        return Merchant(
            merchant_id=row.merchant_id,
            key=row.key,
            name=row.name,
            switched_to_workflows=row.switched_to_workflows,
            revision=row.revision,
            configuration=cached.configuration,
            sandbox_now=row.sandbox_now,
        )
    merchant = await load_merchant(tx, row.merchant_id)
    assert merchant is not None
    return merchant
