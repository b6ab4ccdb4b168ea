"""Release collections to the bank: a user chooses them, and the order is written and stored in the
transaction that marks them as released, so each is in exactly one file. If the merchant wants it,
a second user releases each file."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from operator import attrgetter
from uuid import UUID
from zoneinfo import ZoneInfo

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import ActorKind
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.configuration import DirectDebitSettings
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.store import load_user
from dunwell.cases.direct_debit.debit_values import (
    CancelReason,
    Collection,
    CollectionState,
    Mandate,
    MandateState,
    SequenceType,
    compute_expiry,
    compute_last_release_day,
    decide_sequence_type,
)
from dunwell.cases.direct_debit.files.store import (
    DebitFile,
    DebitFileState,
    OrderedCollection,
    delete_empty_file,
    delete_proposed_file,
    find_file,
    insert_file,
    list_file_collections,
    load_content,
    lock_file,
    put_into_file,
    save_delivered,
    save_ordered,
    save_released_file,
    save_rewritten_file,
)
from dunwell.cases.direct_debit.mandates import open_account
from dunwell.cases.direct_debit.order import (
    DebitOrder,
    OrderAccount,
    OrderBatch,
    OrderedDebit,
    remove_debits,
    render_order,
)
from dunwell.cases.direct_debit.plan_collections import cancel_collection
from dunwell.cases.direct_debit.store import (
    is_account_closed,
    list_disputed_claims,
    list_mandate_collections,
    list_notified,
    list_releasable,
    load_collections,
    load_mandates,
    save_used,
)
from dunwell.cases.modalities.modality import Modality, ModalityState
from dunwell.cases.modalities.progress import local_date
from dunwell.cases.modalities.store import list_live_modalities
from dunwell.contact.notices.occasions.facts import DebitFacts
from dunwell.core.claims.access import lock_claim_of_merchant
from dunwell.core.claims.states import ACTIVE
from dunwell.platform.crypto import KeyRing
from dunwell.platform.errors import Fault, InvalidState, NotFound, ValidationError

FILE_SEAL_PURPOSE = "debit file"
# Debits in one file.
MAX_DEBITS = 1_000
# Why nothing is released while the merchant's bank account is closed.
ACCOUNT_CLOSED = "ACCOUNT_CLOSED"


async def list_releasable_debits(work: Work, *, limit: int = MAX_DEBITS) -> list[Collection]:
    """Return the collections that wait for their release, earliest first."""
    work.require(Right.READ_CLAIMS)
    return await list_releasable(work.tx, work.merchant_id, limit)


async def release_debits(work: Work, keys: KeyRing, collection_ids: Sequence[UUID]) -> DebitFile:
    """Release collections in a new file. If the merchant wants a second user, the file is only
    proposed.

    Raises NotFound, InvalidState if the merchant has no settings for debits, and ValidationError if
    there are no or too many collections, or some cannot be released. The error then has a fault for
    each of these, with its obstacle (`find_obstacles`) as the code, and nothing is released.
    """
    work.require(Right.RECORD_MONEY)
    settings = _get_settings(work)
    if not 0 < len(set(collection_ids)) <= MAX_DEBITS:
        message = f"Choose between 1 and {MAX_DEBITS} debits."
        raise ValidationError([Fault("/collectionIds", message, "TOO_MANY")])
    collections = await _lock_collections(work, collection_ids)
    await _check_releasable(work, collections)
    file_id = work.ids.new(work.now)
    file = DebitFile(
        file_id=file_id,
        message_id=f"DD{file_id.hex[-24:].upper()}",
        state=DebitFileState.PROPOSED,
        debits=len(collections),
        amount_cents=sum(each.amount_cents for each in collections),
        created_at=work.now,
        created_by=_name_actor(work),
    )
    if settings.second_release:
        await insert_file(work.tx, work.merchant_id, file, None, next_attempt_at=None)
        await put_into_file(work.tx, work.merchant_id, file_id, collections, now=work.now)
    else:
        file = _mark_released(work, file, settings)
        ordered = await _order(work, file, collections)
        content = await _write(work, keys, file, ordered, settings=settings)
        next_attempt_at = None if file.deliver_to is None else work.real_now
        await insert_file(work.tx, work.merchant_id, file, content, next_attempt_at=next_attempt_at)
        await _save_ordered(work, file, ordered)
    await _audit(work, "debitFile.create", None, file)
    return file


async def confirm_debit_file(work: Work, keys: KeyRing, file_id: UUID) -> DebitFile:
    """Release a proposed file as a second user.

    Raises NotFound, InvalidState if the file is not proposed, the same user proposed it or the user
    who did may no longer release debits, and ValidationError as `release_debits` does.
    """
    work.require(Right.RECORD_MONEY)
    settings = _get_settings(work)
    collections = await _lock_file_collections(work, file_id)
    file = await _lock_proposed(work, file_id)
    if file.created_by == _name_actor(work):
        raise InvalidState("Another user has to release this file.", state="SECOND_USER")
    if not await _may_release(work, file.created_by):
        message = "The user who proposed this file may no longer release debits."
        raise InvalidState(message, state="PROPOSER")
    await _check_releasable(work, collections, file_id)
    released = _mark_released(work, file, settings)
    ordered = await _order(work, released, collections)
    released = replace(
        released, debits=len(ordered), amount_cents=sum(each.amount_cents for each in collections)
    )
    content = await _write(work, keys, released, ordered, settings=settings)
    next_attempt_at = None if released.deliver_to is None else work.real_now
    await save_released_file(
        work.tx, work.merchant_id, released, content, next_attempt_at=next_attempt_at
    )
    await _save_ordered(work, released, ordered)
    await _audit(work, "debitFile.release", file, released)
    return released


async def dissolve_debit_file(work: Work, file_id: UUID) -> None:
    """Delete a proposed file; its collections wait for their release again. Raises NotFound and
    InvalidState."""
    work.require(Right.RECORD_MONEY)
    await _lock_file_collections(work, file_id)
    file = await _lock_proposed(work, file_id)
    await delete_proposed_file(work.tx, work.merchant_id, file_id)
    await _audit(work, "debitFile.dissolve", file, None)


async def drop_ended_debits(work: Work, keys: KeyRing, file_id: UUID) -> DebitFile:
    """Take debits whose mandates have ended since the release out of a file, unless the file is
    already handed over. Return the file as it is then; one without debits was deleted. Raises
    NotFound."""
    work.require(Right.RECORD_MONEY)
    collections = await _lock_file_collections(work, file_id)
    file = await lock_file(work.tx, work.merchant_id, file_id)
    if file is None:
        raise _build_not_found(file_id)
    mandates = await load_mandates(
        work.tx, work.merchant_id, {each.mandate_id for each in collections}
    )
    ended = [
        each for each in collections
        if mandates[each.mandate_id].state is not MandateState.ACTIVE
    ]  # fmt: skip
    is_changeable = file.state is DebitFileState.RELEASED and file.handed_over_at is None
    if not ended or not is_changeable:
        return file
    for each in ended:
        await cancel_collection(work, each, CancelReason.MANDATE_ENDED)
    left = file.debits - len(ended)
    if not left:
        await delete_empty_file(work.tx, work.merchant_id, file_id)
        await _audit(work, "debitFile.dissolve", file, None)
        return replace(file, debits=0, amount_cents=0)
    sealed = await load_content(work.tx, work.merchant_id, file_id)
    assert sealed is not None, "a released file has content"
    context = build_file_context(work.merchant_id, file_id)
    document = remove_debits(
        keys.open(FILE_SEAL_PURPOSE, sealed, context), {each.end_to_end_id for each in ended}
    )
    cents = file.amount_cents - sum(each.amount_cents for each in ended)
    after = replace(file, debits=left, amount_cents=cents)
    content = keys.seal(FILE_SEAL_PURPOSE, document, context), hashlib.sha256(document).digest()
    await save_rewritten_file(work.tx, work.merchant_id, after, content)
    await _audit(work, "debitFile.reduce", file, after)
    return after


async def download_debit_file(
    work: Work, keys: KeyRing, file_id: UUID
) -> tuple[DebitFile, bytes] | None:
    """Return a released file and its content. From the first download on, a file that no bank
    connection has handed over counts as delivered, and none delivers it any more. Debits whose
    mandates have ended since the release are taken out first; if none is left, return None. Raises
    NotFound, and InvalidState if the file is not released."""
    work.require(Right.RECORD_MONEY)
    file = await drop_ended_debits(work, keys, file_id)
    if not file.debits:
        return None
    sealed = await load_content(work.tx, work.merchant_id, file_id)
    if sealed is None:
        raise InvalidState("A second user has not released this file yet.", state=str(file.state))
    content = keys.open(FILE_SEAL_PURPOSE, sealed, build_file_context(work.merchant_id, file_id))
    after = file
    if file.state is DebitFileState.RELEASED and file.handed_over_at is None:
        await save_delivered(
            work.tx, work.merchant_id, file_id, None, now=work.now, real_now=work.real_now
        )
        after = replace(
            file, state=DebitFileState.DELIVERED, delivered_at=work.real_now, deliver_to=None
        )
    await _audit(work, "debitFile.download", file, after)
    return after, content


def build_file_context(merchant_id: int, file_id: UUID) -> str:
    """Return the context that binds the sealed file to its merchant and id."""
    return f"{merchant_id}:{file_id}"


def build_batches(
    collections: Sequence[tuple[Collection, SequenceType]], message_id: str
) -> list[OrderedCollection]:
    """Give each collection its batch: one for each day and sequence type."""
    keys = sorted({(each.collected_on, kind) for each, kind in collections})
    return [
        OrderedCollection(each, kind, f"{message_id}-{keys.index((each.collected_on, kind)) + 1}")
        for each, kind in collections
    ]


def find_obstacle(
    collection: Collection, mandate: Mandate, modality: Modality | None,
    settings: DirectDebitSettings, today: date,
) -> CancelReason | None:  # fmt: skip
    """Return why a collection cannot be released on a day, or None. `modality` is None for a plan
    that has ended."""
    is_usable = mandate.state is MandateState.ACTIVE and mandate.creditor_id == settings.creditor_id
    if not is_usable or mandate.expires_on < collection.collected_on:
        return CancelReason.MANDATE_ENDED
    if modality is None or modality.state is not ModalityState.APPROVED:
        return CancelReason.PLAN_ENDED
    instalment = modality.schedule[collection.instalment - 1]
    if instalment.left_cents < collection.amount_cents:
        return CancelReason.PAID
    if today > compute_last_release_day(collection.collected_on, settings.lead_days):
        return CancelReason.NOT_RELEASED
    return None


def _get_settings(work: Work) -> DirectDebitSettings:
    settings = work.merchant.configuration.payment.direct_debit
    if settings is None:
        raise InvalidState("This merchant has no direct debits.", state="NOT_AVAILABLE")
    return settings


def _name_actor(work: Work) -> str:
    return f"{work.actor.kind}:{work.actor.actor_id}"


async def _may_release(work: Work, actor: str) -> bool:
    """Return whether the actor who proposed a file may release debits now. Only users can lose that
    right."""
    kind, _, user_id = actor.partition(":")
    user = await load_user(work.tx, UUID(user_id)) if kind == ActorKind.USER else None
    return user is None or Right.RECORD_MONEY in user.rights_at(work.merchant_id)


def _mark_released(work: Work, file: DebitFile, settings: DirectDebitSettings) -> DebitFile:
    # A sandbox moves no money.
    deliver_to = None if work.merchant.is_sandbox else settings.deliver_to
    return replace(
        file, state=DebitFileState.RELEASED, released_at=work.now, released_by=_name_actor(work),
        deliver_to=deliver_to,
    )  # fmt: skip


async def _lock_collections(work: Work, collection_ids: Sequence[UUID]) -> list[Collection]:
    """Lock the claims of the collections, and return the collections as they are then. Raises
    NotFound."""
    unlocked = await load_collections(work.tx, work.merchant_id, collection_ids)
    missing = set(collection_ids) - {each.collection_id for each in unlocked}
    if missing:
        raise NotFound(f"There is no debit {min(missing)}.")
    for claim_id in sorted({each.claim_id for each in unlocked}):
        await lock_claim_of_merchant(work, claim_id)
    return await load_collections(work.tx, work.merchant_id, collection_ids)


async def _lock_file_collections(work: Work, file_id: UUID) -> list[Collection]:
    """Lock the claims of a file's collections, and return the collections as they are then. Raises
    NotFound."""
    if await find_file(work.tx, work.merchant_id, file_id) is None:
        raise _build_not_found(file_id)
    unlocked = await list_file_collections(work.tx, work.merchant_id, file_id)
    for claim_id in sorted({each.claim_id for each in unlocked}):
        await lock_claim_of_merchant(work, claim_id)
    return await list_file_collections(work.tx, work.merchant_id, file_id)


async def _lock_proposed(work: Work, file_id: UUID) -> DebitFile:
    """Lock a proposed file. Raises NotFound, and InvalidState if it is released."""
    file = await lock_file(work.tx, work.merchant_id, file_id)
    if file is None:
        raise _build_not_found(file_id)
    if file.state is not DebitFileState.PROPOSED:
        raise InvalidState("This file has been released already.", state=str(file.state))
    return file


async def _check_releasable(
    work: Work, collections: Sequence[Collection], file_id: UUID | None = None
) -> None:
    """Raise ValidationError with a fault for each collection that cannot be released, and
    InvalidState if there are none."""
    if not collections:
        raise InvalidState("None of these debits can be released any more.", state="EMPTY")
    obstacles = await find_obstacles(work, collections, file_id)
    faults = []
    for index, each in enumerate(collections):
        code = obstacles.get(each.collection_id)
        if code is not None:
            message = f"This debit cannot be released: {code}."
            faults.append(Fault(f"/collectionIds/{index}", message, code))
    if faults:
        raise ValidationError(faults)


async def find_obstacles(
    work: Work, collections: Sequence[Collection], file_id: UUID | None = None
) -> dict[UUID, str]:
    """Return why collections cannot be released, as a CancelReason, a state or ACCOUNT_CLOSED, by
    their id. Collections that can be released are left out. `file_id` is the proposed file that has
    the collections, or None if no file has them."""
    work.require(Right.READ_CLAIMS)
    settings = work.merchant.configuration.payment.direct_debit
    is_closed = settings is not None and await is_account_closed(
        work.tx, work.merchant_id, settings.account.iban
    )
    mandates = await load_mandates(
        work.tx, work.merchant_id, {each.mandate_id for each in collections}
    )
    claim_ids = list({each.claim_id for each in collections})
    live = await list_live_modalities(work.tx, work.merchant_id, claim_ids)
    modalities = {m.modality_id: m for m, _, status in live if status in ACTIVE}
    notified = await list_notified(work.tx, work.merchant_id, collections, DebitFacts.template)
    disputed = await list_disputed_claims(work.tx, work.merchant_id, claim_ids, work.now)
    today = local_date(work.now, work.merchant.configuration.timezone)
    obstacles = dict[UUID, str]()
    for each in collections:
        if each.state is not CollectionState.PRENOTIFIED or each.file_id != file_id:
            code: str | None = str(each.state)
        elif is_closed:
            code = ACCOUNT_CLOSED
        elif each.claim_id in disputed:
            code = CancelReason.DISPUTED
        elif each.collection_id not in notified:
            code = CancelReason.NOT_NOTIFIED
        elif settings is None:
            code = CancelReason.MANDATE_ENDED
        else:
            modality = modalities.get(each.modality_id)
            code = find_obstacle(each, mandates[each.mandate_id], modality, settings, today=today)
        if code is not None:
            obstacles[each.collection_id] = str(code)
    return obstacles


async def _order(
    work: Work, file: DebitFile, collections: Sequence[Collection]
) -> list[OrderedCollection]:
    """Decide the sequence type and the batch of each collection."""
    mandate_ids = {each.mandate_id for each in collections}
    all_of_mandates = await list_mandate_collections(work.tx, work.merchant_id, mandate_ids)
    used_ids = {each.mandate_id for each in all_of_mandates if _was_settled(each)}
    last_instalments: dict[UUID, int] = {}
    for each in all_of_mandates:
        if each.state is not CollectionState.CANCELLED:
            last = max(last_instalments.get(each.mandate_id, 0), each.instalment)
            last_instalments[each.mandate_id] = last
    typed_collections = []
    for each in sorted(collections, key=attrgetter("collected_on", "instalment")):
        is_last = each.instalment == last_instalments[each.mandate_id]
        kind = decide_sequence_type(was_used=each.mandate_id in used_ids, is_last=is_last)
        typed_collections.append((each, kind))
        used_ids.add(each.mandate_id)
    return build_batches(typed_collections, file.message_id)


def _was_settled(collection: Collection) -> bool:
    """Return whether the debit was collected or, as far as is known, will be. A debit that was
    rejected before its settlement does not count."""
    return collection.payment_id is not None or collection.state in (
        CollectionState.RELEASED, CollectionState.DELIVERED, CollectionState.COLLECTED,
    )  # fmt: skip


async def _write(
    work: Work, keys: KeyRing, file: DebitFile, ordered: Sequence[OrderedCollection],
    settings: DirectDebitSettings,
) -> tuple[bytes, bytes]:  # fmt: skip
    """Write the order. Return it encrypted, and the SHA-256 digest of the unencrypted document."""
    mandate_ids = {each.collection.mandate_id for each in ordered}
    mandates = await load_mandates(work.tx, work.merchant_id, mandate_ids)
    claim_ids = list({each.collection.claim_id for each in ordered})
    live = await list_live_modalities(work.tx, work.merchant_id, claim_ids)
    references = {modality.modality_id: reference for modality, reference, _ in live}
    batches: dict[str, list[OrderedCollection]] = {}
    for each in ordered:
        batches.setdefault(each.batch_id, []).append(each)
    account = settings.account
    order = DebitOrder(
        message_id=file.message_id,
        created_at=work.now.astimezone(ZoneInfo(work.merchant.configuration.timezone)),
        creditor_id=settings.creditor_id,
        creditor=OrderAccount(account.holder, account.iban, account.bic),
        batches=[
            OrderBatch(
                batch_id, batch[0].sequence_type, batch[0].collection.collected_on,
                [_build_debit(work, keys, each, mandates, references=references) for each in batch],
            )
            for batch_id, batch in batches.items()
        ],
    )  # fmt: skip
    document = render_order(order)
    context = build_file_context(work.merchant_id, file.file_id)
    sealed = keys.seal(FILE_SEAL_PURPOSE, document, context)
    return sealed, hashlib.sha256(document).digest()


def _build_debit(
    work: Work, keys: KeyRing, ordered: OrderedCollection, mandates: Mapping[UUID, Mandate],
    references: Mapping[UUID, str],
) -> OrderedDebit:  # fmt: skip
    collection = ordered.collection
    mandate = mandates[collection.mandate_id]
    account = open_account(keys, work.merchant_id, mandate)
    return OrderedDebit(
        end_to_end_id=collection.end_to_end_id,
        amount_cents=collection.amount_cents,
        mandate_reference=mandate.reference,
        signed_on=mandate.signed_on,
        debtor=OrderAccount(account.holder, account.iban, account.bic),
        purpose=f"{references[collection.modality_id]}, {collection.instalment}",
    )


async def _save_ordered(work: Work, file: DebitFile, ordered: Sequence[OrderedCollection]) -> None:
    saved = await save_ordered(work.tx, work.merchant_id, file.file_id, ordered, now=work.now)
    assert saved == len(ordered), "the claims are locked and the states were checked"
    expiries: dict[UUID, date] = {}
    for each in ordered:
        expiry = compute_expiry(each.collection.collected_on)
        known = expiries.get(each.collection.mandate_id, expiry)
        expiries[each.collection.mandate_id] = max(known, expiry)
    await save_used(work.tx, work.merchant_id, expiries)


async def _audit(
    work: Work, action: str, before: DebitFile | None, after: DebitFile | None
) -> None:
    file = after or before
    assert file is not None, "the file exists before or after"
    await save_audit(
        work, action, f"debitFile:{file.file_id}",
        before=None if before is None else {"state": before.state},
        after=None if after is None else {
            "state": after.state, "debits": after.debits, "amount": after.amount_cents,
        },
        fileId=str(file.file_id),
    )  # fmt: skip


def _build_not_found(file_id: UUID) -> NotFound:
    return NotFound(f"There is no debit file {file_id}.")
