"""Mandates that debtors give for their payment plans: what they are asked to accept, signing,
revoking, and the encryption of the account."""

from dataclasses import dataclass
from uuid import UUID

import msgspec
from schwifty import IBAN

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.configuration import DirectDebitSettings
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.direct_debit.debit_values import (
    DIRECT_DEBIT,
    CancelReason,
    CollectionState,
    DebitAccount,
    Mandate,
    MandateEndReason,
    MandateState,
    build_reference,
    compute_expiry,
    is_debit_country,
)
from dunwell.cases.direct_debit.order import CURRENCY, ForbiddenText, spell_name
from dunwell.cases.direct_debit.provider_records.store import ask_to_cancel_debit, make_mandate_due
from dunwell.cases.direct_debit.store import (
    count_mandates,
    end_mandate,
    find_mandate,
    insert_mandate,
    is_account_closed,
    list_claim_mandates,
    list_mandate_collections,
    save_cancelled,
)
from dunwell.cases.modalities.modality import Modality, ModalityState, ModalityType
from dunwell.cases.modalities.progress import local_date
from dunwell.cases.modalities.store import find_modality, save_awaited_day, schedule_check_now
from dunwell.contact.notices.occasions.facts import MandateFacts
from dunwell.contact.notices.occasions.notify_debtor import notify_debtor
from dunwell.core.claims.access import check_claim_exists, lock_claim_of_merchant
from dunwell.core.claims.publish_event import publish_additional_event
from dunwell.core.claims.states import ACTIVE
from dunwell.core.claims.store import LockedClaim
from dunwell.core.events.payloads import EventMandateData, mandate_changed
from dunwell.platform.crypto import KeyRing
from dunwell.platform.errors import Fault, InvalidState, NotFound, ValidationError
from dunwell.platform.text.codes import is_iban
from dunwell.platform.text.texts import is_line

SEAL_PURPOSE = "debit account"
_CANCELLABLE = (CollectionState.PLANNED, CollectionState.PRENOTIFIED)
_ORDERED = (CollectionState.RELEASED, CollectionState.DELIVERED)


@dataclass(frozen=True, slots=True)
class MandateOffer:
    """What a debtor is asked to accept."""

    modality: Modality
    reference: str
    settings: DirectDebitSettings


@dataclass(frozen=True, slots=True)
class SignedMandate:
    """What a debtor has entered and accepted. `reference` and `text` are those that were shown."""

    modality_id: UUID
    holder: str
    iban: str
    reference: str
    text: str
    language: str


async def prepare_mandate(work: Work, claim_id: int, modality_id: UUID) -> MandateOffer:
    """Return the mandate that a debtor can give for a plan. Raises NotFound, and InvalidState if
    none can be given."""
    work.require(Right.READ_CLAIMS)
    await check_claim_exists(work, claim_id)
    return await _build_offer(work, claim_id, modality_id)


async def sign_mandate(work: Work, keys: KeyRing, claim_id: int, signed: SignedMandate) -> Mandate:
    """Store a mandate for a payment plan that is requested or active, and confirm it to the debtor.

    Raises NotFound, InvalidState if no mandate can be given or another one was given since the text
    was shown, and ValidationError if the account's holder or IBAN is invalid.
    """
    work.require(Right.CHANGE_CLAIMS)
    claim = await lock_claim_of_merchant(work, claim_id)
    account = parse_account(signed.holder, signed.iban)
    offer = await _build_offer(work, claim_id, signed.modality_id)
    if claim.status not in ACTIVE or offer.reference != signed.reference:
        raise InvalidState("This mandate can no longer be given. Reload the page.", state="CHANGED")
    mandate_id, zone = work.ids.new(work.now), work.merchant.configuration.timezone
    signed_on = local_date(work.now, zone)
    mandate = Mandate(
        mandate_id=mandate_id,
        claim_id=claim_id,
        modality_id=signed.modality_id,
        creditor_id=offer.settings.creditor_id,
        reference=offer.reference,
        account_sealed=seal_account(keys, work.merchant_id, mandate_id, account),
        account_shown=account.masked,
        text=signed.text,
        language=signed.language,
        signed_at=work.now,
        signed_on=signed_on,
        actor_kind=work.actor.kind,
        actor_id=work.actor.actor_id,
        state=MandateState.ACTIVE,
        expires_on=compute_expiry(signed_on),
    )
    await insert_mandate(work.tx, work.merchant_id, mandate, check_at=work.now)
    await publish_mandate_state(work, mandate)
    await _notify_of_mandate(work, claim, mandate)
    await save_audit(
        work, "mandate.sign", f"claim:{claim_id}",
        after={"state": mandate.state, "reference": mandate.reference},
        mandateId=str(mandate_id), modalityId=str(signed.modality_id),
    )  # fmt: skip
    return mandate


async def revoke_mandate(work: Work, claim_id: int, mandate_id: UUID) -> Mandate:
    """Revoke a mandate for the debtor. Debits that are not released are cancelled. Repeating it
    changes nothing. Raises NotFound, and InvalidState if it has ended differently."""
    work.require(Right.CHANGE_CLAIMS)
    claim = await lock_claim_of_merchant(work, claim_id)
    mandate = await find_mandate(work.tx, work.merchant_id, mandate_id)
    if mandate is None or mandate.claim_id != claim_id:
        raise NotFound(f"There is no mandate {mandate_id}.")
    if mandate.ended_reason is MandateEndReason.REVOKED:
        return mandate
    if mandate.state is not MandateState.ACTIVE:
        raise InvalidState("The mandate has already ended.", state=str(mandate.state))
    ended = await close_mandate(work, mandate, MandateEndReason.REVOKED)
    await _notify_of_mandate(work, claim, ended)
    return ended


async def list_mandates(work: Work, claim_id: int) -> list[Mandate]:
    """Return the mandates of a claim's plans, newest first. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    await check_claim_exists(work, claim_id)
    return await list_claim_mandates(work.tx, work.merchant_id, claim_id)


async def close_mandate(work: Work, mandate: Mandate, reason: MandateEndReason) -> Mandate:
    """End an active mandate of a locked claim, and cancel its debits that are not released. If a
    provider collects, it is asked to cancel the mandate and the debits that were ordered. Return
    the mandate as it is then."""
    await end_mandate(work.tx, work.merchant_id, mandate.mandate_id, reason=reason, now=work.now)
    is_over = reason is MandateEndReason.PLAN_ENDED
    cancel_reason = CancelReason.PLAN_ENDED if is_over else CancelReason.MANDATE_ENDED
    today = local_date(work.now, work.merchant.configuration.timezone)
    for each in await list_mandate_collections(work.tx, work.merchant_id, [mandate.mandate_id]):
        if each.provider is not None and each.state in _ORDERED:
            await ask_to_cancel_debit(
                work.tx, work.merchant_id, each.collection_id, reason=cancel_reason,
                now=work.real_now,
            )  # fmt: skip
        if each.state not in _CANCELLABLE:
            continue
        await save_cancelled(
            work.tx, work.merchant_id, each.collection_id, reason=cancel_reason, now=work.now
        )
        # An instalment that is not due yet is treated as without a mandate: the debtor is reminded
        # of it. For one that is due, the days of grace begin today.
        await save_awaited_day(
            work.tx, work.merchant_id, each.modality_id, each.instalment,
            awaited_on=today if today >= each.due_on else None,
        )  # fmt: skip
    await schedule_check_now(work.tx, work.merchant_id, mandate.claim_id, work.now)
    if mandate.provider is not None:
        await make_mandate_due(work.tx, work.merchant_id, mandate.mandate_id, work.real_now)
    ended = await find_mandate(work.tx, work.merchant_id, mandate.mandate_id)
    assert ended is not None, "mandates are not deleted while the claim is locked"
    await publish_mandate_state(work, ended)
    await save_audit(
        work, "mandate.end", f"claim:{mandate.claim_id}",
        before={"state": mandate.state}, after={"state": ended.state, "reason": reason},
        mandateId=str(mandate.mandate_id),
    )  # fmt: skip
    return ended


def parse_account(holder: str, iban: str) -> DebitAccount:
    """Parse what a debtor has entered. Raises ValidationError."""
    faults, name = [], " ".join(holder.split())
    try:
        spell_name(name)
    except ForbiddenText:
        message = "Enter the name of the account holder in Latin letters."
        faults.append(Fault("/holder", message, "REQUIRED"))
    if not is_line(name):
        message = "Use at most 255 characters, without line breaks."
        faults.append(Fault("/holder", message, "WRONG_FORMAT"))
    if not is_iban(iban):
        message = "This is not a valid IBAN. Copy it again from your card or statement."
        faults.append(Fault("/iban", message, "WRONG_IBAN"))
    elif not is_debit_country(IBAN(iban).compact):
        message = "Only accounts in the European Economic Area can be debited."
        faults.append(Fault("/iban", message, "NOT_AVAILABLE"))
    if faults:
        raise ValidationError(faults)
    return DebitAccount(name, IBAN(iban).compact)


def seal_account(keys: KeyRing, merchant_id: int, mandate_id: UUID, account: DebitAccount) -> bytes:
    plain = msgspec.json.encode(account)
    return keys.seal(SEAL_PURPOSE, plain, build_seal_context(merchant_id, mandate_id))


def open_account(keys: KeyRing, merchant_id: int, mandate: Mandate) -> DebitAccount:
    """Return the decrypted account of a mandate. Raises DecryptionFailed."""
    context = build_seal_context(merchant_id, mandate.mandate_id)
    assert mandate.account_sealed is not None, "a provider collects with this mandate"
    plain = keys.open(SEAL_PURPOSE, mandate.account_sealed, context)
    return msgspec.json.decode(plain, type=DebitAccount)


def build_seal_context(merchant_id: int, mandate_id: UUID) -> str:
    """Return the context that binds the sealed account to its merchant and mandate."""
    return f"{merchant_id}:{mandate_id}"


async def load_plan_for_mandate(work: Work, claim_id: int, modality_id: UUID) -> Modality:
    """Return a plan for which a mandate can be given. Raises NotFound, and InvalidState if none can
    be given."""
    modality = await find_modality(work.tx, work.merchant_id, claim_id, modality_id)
    if modality is None:
        raise NotFound(f"There is no payment modality {modality_id}.")
    is_possible = (
        modality.type is ModalityType.PAYMENT_PLAN
        and modality.state is not ModalityState.REJECTED
        and modality.ended_at is None
        and modality.currency == CURRENCY
    )
    if not is_possible:
        raise _build_not_available()
    mandates = await list_claim_mandates(work.tx, work.merchant_id, claim_id)
    if any(
        each.modality_id == modality_id and each.state is MandateState.ACTIVE for each in mandates
    ):
        raise InvalidState("A mandate was already given for this plan.", state="ACTIVE")
    return modality


def _build_not_available() -> InvalidState:
    return InvalidState("This plan cannot be paid by direct debit.", state="NOT_AVAILABLE")


async def can_collect_through_bank(work: Work) -> bool:
    """Return whether the merchant's bank collects debits for new mandates: it is set up, and its
    account is not closed."""
    work.require(Right.READ_CLAIMS)
    settings = work.merchant.configuration.payment.direct_debit
    return settings is not None and not await is_account_closed(
        work.tx, work.merchant_id, settings.account.iban
    )


async def _build_offer(work: Work, claim_id: int, modality_id: UUID) -> MandateOffer:
    modality = await load_plan_for_mandate(work, claim_id, modality_id)
    settings = work.merchant.configuration.payment.direct_debit
    if settings is None or not await can_collect_through_bank(work):
        raise _build_not_available()
    number = await count_mandates(work.tx, work.merchant_id, modality_id) + 1
    return MandateOffer(modality, build_reference(claim_id, modality_id, number), settings)


async def publish_mandate_state(work: Work, mandate: Mandate) -> None:
    """Publish MANDATE_CHANGED with the mandate's state."""
    data = EventMandateData(
        mandate_id=mandate.mandate_id,
        reference=mandate.reference,
        provider_name=mandate.provider_name or DIRECT_DEBIT,
        modality_id=mandate.modality_id,
    )
    await publish_additional_event(
        work, mandate.claim_id, lambda head: mandate_changed(head, data, mandate.state.value)
    )


async def _notify_of_mandate(work: Work, claim: LockedClaim, mandate: Mandate) -> None:
    """Notify the debtor of the mandate's state, unless the provider does."""
    if mandate.provider is not None:
        return
    settings = work.merchant.configuration.payment.direct_debit
    is_active = mandate.state is MandateState.ACTIVE
    facts = MandateFacts(
        reference_number=claim.reference_number,
        mandate_reference=mandate.reference,
        creditor_id=mandate.creditor_id,
        account=mandate.account_shown,
        text=mandate.text,
        signed_on=mandate.signed_on,
        notice_days=0 if settings is None else settings.pre_notification_days,
        is_active=is_active,
    )
    await notify_debtor(work, claim.claim_id, f"{mandate.mandate_id} {mandate.state}", facts)
