"""A claim with a payment plan whose debtor gives a mandate, and a bank's folder."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from lxml import etree

from dunwell.accounts.merchants.actor import Actor, Interface, Origin, build_user_actor
from dunwell.accounts.merchants.configuration import BankAccount, DirectDebitSettings
from dunwell.accounts.merchants.rights import ALL_RIGHTS
from dunwell.cases.direct_debit.debit_results import (
    DebitOutcome,
    DebitResult,
    RecordedResult,
    record_debit_result,
)
from dunwell.cases.direct_debit.debit_values import (
    Collection,
    CollectionState,
    Mandate,
)
from dunwell.cases.direct_debit.files.release_debits import (
    download_debit_file,
    list_releasable_debits,
    release_debits,
)
from dunwell.cases.direct_debit.files.store import DebitFile
from dunwell.cases.direct_debit.mandates import (
    SignedMandate,
    prepare_mandate,
    sign_mandate,
)
from dunwell.cases.direct_debit.plan_collections import plan_collections
from dunwell.cases.direct_debit.store import list_mandate_collections
from dunwell.cases.modalities.modality import Modality
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.direct_debits import CREDITOR_ID, DEBTOR_IBAN
from tests.support.modalities import DEBTOR, OFFERING, Arrangement, an_arrangement
from tests.support.notice_sending import send_due_notices

DAY = timedelta(days=1)
DEBIT = DirectDebitSettings(
    creditor_id=CREDITOR_ID,
    account=BankAccount("DE89370400440532013000", "Nordwind GmbH", "COBADEFFXXX"),
    pre_notification_days=5,
)
_ORIGIN = Origin(Interface.PORTAL)
CLERK = build_user_actor(str(UUID(int=1)), ALL_RIGHTS, _ORIGIN)
SECOND = build_user_actor(str(UUID(int=2)), ALL_RIGHTS, _ORIGIN)


def configure(**changes: Any) -> dict[str, Any]:
    debit = msgspec.structs.replace(DEBIT, **changes)
    payment = msgspec.structs.replace(OFFERING.payment, direct_debit=debit)
    return {"configuration": msgspec.structs.replace(OFFERING, payment=payment)}


@dataclass
class BankFolder:
    """A bank's folder, whose calls can fail once."""

    files: dict[str, bytes] = field(default_factory=dict)
    failures: dict[str, BaseException] = field(default_factory=dict)
    # Called when a file has been written under its temporary name.
    after_write: Callable[[], Awaitable[object]] | None = None

    async def write_part(self, name: str, content: bytes) -> None:
        self._fail("write")
        self.files[f"{name}.part"] = content
        if self.after_write is not None:
            await self.after_write()

    async def finish_part(self, name: str) -> None:
        self._fail("finish")
        if f"{name}.part" not in self.files:
            raise FileNotFoundError(name)
        self.files[name] = self.files.pop(f"{name}.part")
        self._fail("after")

    async def remove(self, name: str) -> None:
        del self.files[name]

    def _fail(self, at: str) -> None:
        if at in self.failures:
            raise self.failures.pop(at)


@dataclass
class Debits:
    """A claim with an agreed plan of three instalments, from 16 March on."""

    arrangement: Arrangement
    modality_id: UUID

    async def sign(self, iban: str = DEBTOR_IBAN, holder: str = "Jürgen Weiß") -> Mandate:
        claim_id, modality_id = self.arrangement.claim_id, self.modality_id
        async with self.arrangement.harness.work(DEBTOR) as work:
            offer = await prepare_mandate(work, claim_id, modality_id)
            signed = SignedMandate(
                modality_id, holder, iban, offer.reference, "I authorise Nordwind.", "en"
            )
            return await sign_mandate(
                work, self.arrangement.harness.resources.keys, claim_id, signed
            )

    async def plan_at(self, instant: datetime | None = None) -> None:
        """Move the clock, plan everything that is due, and send the notices."""
        if instant is not None:
            self.arrangement.harness.clock.move_to(instant)
        while await plan_collections(self.arrangement.harness.resources):
            pass
        await send_due_notices(self.arrangement.harness)

    async def collections(self, mandate: Mandate) -> Sequence[Collection]:
        async with self.arrangement.harness.work() as work:
            return await list_mandate_collections(work.tx, work.merchant_id, [mandate.mandate_id])

    async def states(self, mandate: Mandate) -> list[CollectionState]:
        return [each.state for each in await self.collections(mandate)]

    async def releasable(self) -> list[UUID]:
        async with self.arrangement.harness.work(CLERK) as work:
            return [each.collection_id for each in await list_releasable_debits(work)]

    async def release(self, actor: Actor = CLERK, ids: Sequence[UUID] | None = None) -> DebitFile:
        chosen = await self.releasable() if ids is None else ids
        async with self.arrangement.harness.work(actor) as work:
            return await release_debits(work, self.arrangement.harness.resources.keys, chosen)

    async def download(self, file: DebitFile) -> bytes:
        async with self.arrangement.harness.work(CLERK) as work:
            keys = self.arrangement.harness.resources.keys
            loaded = await download_debit_file(work, keys, file.file_id)
            assert loaded is not None, "no debit is left"
            return loaded[1]

    async def record(self, collection: Collection, **changes: Any) -> RecordedResult:
        """Record a result of the debit, by default that it was collected on its day."""
        given: dict[str, Any] = {
            "outcome": DebitOutcome.COLLECTED,
            "booked_on": date(2026, 3, 16),
            **changes,
        }
        async with self.arrangement.harness.work() as work:
            return await record_debit_result(work, collection.end_to_end_id, DebitResult(**given))

    async def look(self) -> Modality:
        return await self.arrangement.look(self.modality_id)

    async def status(self) -> Status:
        return (await self.arrangement.harness.read(self.arrangement.claim_id)).status


async def start(
    resources: Resources, clock: MovableClock, *, sandbox: bool = False, **changes: Any
) -> Debits:
    """Return the claim and its plan. `changes` are made to the settings of direct debits."""
    arrangement = await an_arrangement(resources, clock, sandbox=sandbox, **configure(**changes))
    return Debits(arrangement, (await arrangement.agree()).modality_id)


# Nine in the morning in Berlin, six days before the first instalment.
NOTICE = datetime(2026, 3, 10, 8, tzinfo=UTC)


async def deliver_first(debits: Debits) -> tuple[Mandate, Collection]:
    """Return the mandate and the first collection after its file was downloaded."""
    mandate = await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    await debits.download(await debits.release())
    return mandate, (await debits.collections(mandate))[0]


def find_texts(content: bytes, name: str) -> list[str]:
    return [each.text for each in etree.fromstring(content).xpath(f"//*[local-name()='{name}']")]
