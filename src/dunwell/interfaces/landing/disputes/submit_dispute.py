"""Submit a drafted dispute with its files, once per form, or more files for an open dispute."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import CHANNELS, Configuration, DisputeSettings
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.disputes.answer_dispute import add_evidence
from dunwell.cases.disputes.dispute import MAX_FILES_AT_ONCE, ClaimDispute, NewDispute
from dunwell.cases.disputes.open_dispute import open_dispute
from dunwell.cases.disputes.reasons import (
    PERSON_DIED,
    WRONG_PERSON,
    DisputeType,
    OfferedReason,
    list_offered_reasons,
)
from dunwell.cases.disputes.store import list_evidence_digests
from dunwell.cases.disputes.wrong_person import ReachedAddress
from dunwell.core.claims.states import ACTIVE
from dunwell.core.claims.store import lock_claim
from dunwell.core.files.upload import PreparedUpload
from dunwell.interfaces.landing.disputes.store import load_recipient
from dunwell.interfaces.landing.payment.payment_choice import compute_options
from dunwell.interfaces.landing.session.drafts import (
    DRAFT_LIFETIME,
    MAX_UNSENT_FILES,
    DraftKey,
    FormDraft,
    SubmittedForm,
    add_conflicting_version,
    build_claim_draft_key,
    has_conflict,
    select_new_files,
)
from dunwell.interfaces.landing.session.facts import DisputeFacts, PageClaim
from dunwell.interfaces.landing.session.lifecycle import (
    digest_addresses,
    list_addresses,
)
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.store import (
    OpenedClaim,
    count_unsent_files,
    delete_draft_files_by_id,
    lock_draft,
    save_draft_sent,
    save_fields,
    save_files,
)
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection

# The prefix of a draft's subject; the reason's name follows.
SUBJECT = "dispute:"
# The reasons that are offered at the level LINK, because they need no knowledge of what the claim
# is about (PAGES, personal data).
_REASONS_AT_LINK: tuple[str, ...] = (
    WRONG_PERSON,
    DisputeType.NOT_MY_DEBT,
    PERSON_DIED,
    DisputeType.IDENTITY_THEFT,
    DisputeType.DEBTOR_ALREADY_PAID,
    DisputeType.OTHER,
)


def can_dispute(facts: PageClaim) -> bool:
    return facts.status in ACTIVE and facts.withheld is None


def list_reasons_for_level(disputes: DisputeSettings, level: Level) -> list[OfferedReason]:
    """Return the reasons offered at this level. At LINK these are only the reasons that need no
    proof; those of people who received the message by mistake come first."""
    offered = list_offered_reasons(disputes)
    if level.reaches(Level.FACT):
        return offered
    by_name = {each.name: each for each in offered}
    return [by_name[name] for name in _REASONS_AT_LINK if name in by_name]


def needs_proof(reason: OfferedReason) -> bool:
    return reason.name not in _REASONS_AT_LINK


def list_unsent_reasons(
    subjects: Sequence[str], disputes: DisputeSettings, level: Level
) -> list[str]:
    """Return the reasons of unsent drafts that this level may see."""
    found = [find_reason(disputes, each.removeprefix(SUBJECT)) for each in subjects]
    reasons = [each for each in found if each is not None]
    return [each.name for each in reasons if not needs_proof(each) or level.reaches(Level.FACT)]


def find_reason(disputes: DisputeSettings, name: str) -> OfferedReason | None:
    return next((each for each in list_offered_reasons(disputes) if each.name == name), None)


def find_undisputed_cents(
    dispute: ClaimDispute | DisputeFacts, facts: PageClaim, configuration: Configuration
) -> int | None:
    """Return the undisputed part of a wrong amount, if it can be paid separately."""
    agreed = dispute.answers.get("amount")
    if dispute.type is not DisputeType.AMOUNT_WRONG or agreed is None:
        return None
    options = compute_options(facts, configuration.payment.partial, shows_items=False)
    if options.bounds is None:
        return None
    is_payable = options.bounds.min_cents <= int(agreed) < facts.outstanding_cents
    return int(agreed) if is_payable else None


@dataclass(frozen=True, slots=True)
class SavedDisputeDraft:
    """A saved draft.

    `previous` is the draft as it was before this form. `has_omitted_files` says that some of the
    form's files were left out because there were too many. `created_id` is the dispute that this
    form has opened, now or when it was sent before. `has_conflict` says that the draft was changed
    elsewhere, so both texts are kept.
    """

    previous: FormDraft
    new_files: list[PreparedUpload]
    has_omitted_files: bool = False
    created_id: UUID | None = None
    has_conflict: bool = False

    @property
    def ticket_ids(self) -> list[UUID]:
        """Return the ids of all uploads of the draft, with the new ones."""
        present = [each.ticket_id for each in self.previous.files]
        return [*present, *(each.ticket_id for each in self.new_files)]


async def save_form_draft(work: Work, claim_id: int, typed: SubmittedForm) -> SavedDisputeDraft:
    """Save the form as a draft. The draft's lock serializes concurrent forms of one subject."""
    work.require(Right.CHANGE_CLAIMS)
    key = build_claim_draft_key(work.merchant_id, claim_id, typed.subject)
    kept_until = work.real_now + DRAFT_LIFETIME
    before = await lock_draft(work.tx, key, kept_until)
    created_id = before.find_created(typed.form_id)
    if created_id is not None:
        return SavedDisputeDraft(before, [], created_id=created_id)
    new_files, is_full = select_new_files(before, typed.uploads, MAX_FILES_AT_ONCE)
    if new_files:
        unsent = await count_unsent_files(work.tx, work.merchant_id, claim_id)
        space = max(0, MAX_UNSENT_FILES - unsent)
        new_files, is_full = new_files[:space], is_full or len(new_files) > space
    is_conflict = has_conflict(before, typed)
    if is_conflict:
        await save_fields(
            work.tx, key, before.fields, add_conflicting_version(before, typed.fields)
        )
    else:
        await save_fields(work.tx, key, typed.fields)
    await save_files(work.tx, key, new_files, kept_until)
    return SavedDisputeDraft(before, new_files, is_full, has_conflict=is_conflict)


async def find_reached_address(
    tx: Connection, keys: KeyRing, opened: OpenedClaim
) -> ReachedAddress | None:
    """Find the address that the opened message was sent to, which may no longer be on file. If the
    message's content was deleted, return the address on file for its channel, or None. Return None
    for the claim's own link, because the merchant may have sent it to any address."""
    session, merchant_id = opened.session, opened.merchant.merchant_id
    addresses = list_addresses(opened.facts.on_file, CHANNELS)
    if session.channel is None and session.level.reaches(Level.CODE):
        # The session was opened from another claim of the debtor with a sent code, which proves its
        # address.
        digests = digest_addresses(keys, merchant_id, addresses)
        proven = (
            ReachedAddress(channel, addresses[channel])
            for channel, known in digests.items()
            if not set(known).isdisjoint(session.proven_digests)
        )
        return next(proven, None)
    if session.channel is None and session.level is Level.LINK:
        return None
    # Otherwise a session without a channel was opened with a letter's code.
    channel = session.channel or "LETTER"
    address = addresses.get(channel)
    if channel != "LETTER" and session.communication_id is not None:
        written = await load_recipient(tx, merchant_id, session.communication_id)
        address = written or address
    return None if address is None else ReachedAddress(channel, address)


async def submit_dispute(
    work: Work, keys: KeyRing, opened: OpenedClaim, typed: SubmittedForm, new: NewDispute
) -> SavedDisputeDraft:
    """Submit the form and open the dispute. A form that was sent before, or that conflicts with a
    changed draft, opens none. The result's `created_id` is the dispute, or None after a conflict.

    Raises the errors of `open_dispute`.
    """
    work.require(Right.CHANGE_CLAIMS)
    claim_id = opened.facts.claim_id
    # Lock the claim before the draft, as everywhere.
    await lock_claim(work.tx, work.merchant_id, claim_id)
    saved = await save_form_draft(work, claim_id, typed)
    if saved.created_id is not None or saved.has_conflict:
        return saved
    reached = await find_reached_address(work.tx, keys, opened)
    dispute = await open_dispute(work, keys, claim_id, new, reached=reached)
    if saved.ticket_ids:
        await add_evidence(work, claim_id, dispute.dispute_id, saved.ticket_ids)
    key = build_claim_draft_key(work.merchant_id, claim_id, typed.subject)
    await save_draft_sent(work.tx, key, form_id=typed.form_id, created_id=dispute.dispute_id)
    return replace(saved, created_id=dispute.dispute_id)


def build_dispute_draft_key(work: Work, dispute: ClaimDispute) -> DraftKey:
    """Return the key of the draft for the dispute's reason."""
    subject = SUBJECT + (dispute.reason or dispute.type)
    return build_claim_draft_key(work.merchant_id, dispute.claim_id, subject)


async def send_draft_files(work: Work, dispute: ClaimDispute) -> None:
    """Add all files of the draft that the dispute does not have yet. Raises the errors of
    `add_evidence`."""
    work.require(Right.CHANGE_CLAIMS)
    # Lock the claim before the draft, as everywhere.
    await lock_claim(work.tx, work.merchant_id, dispute.claim_id)
    key = build_dispute_draft_key(work, dispute)
    draft = await lock_draft(work.tx, key, work.real_now + DRAFT_LIFETIME)
    known = await list_evidence_digests(work.tx, work.merchant_id, dispute.dispute_id)
    new = [each.ticket_id for each in draft.files if each.sha256 not in known]
    if new:
        await add_evidence(work, dispute.claim_id, dispute.dispute_id, new)
    await delete_draft_files_by_id(work.tx, key, [each.ticket_id for each in draft.files])


async def delete_draft_files(work: Work, dispute: ClaimDispute) -> list[UUID]:
    """Remove the draft's files. Return the ids of their uploads, which the caller discards."""
    work.require(Right.CHANGE_CLAIMS)
    key = build_dispute_draft_key(work, dispute)
    draft = await lock_draft(work.tx, key, work.real_now + DRAFT_LIFETIME)
    ticket_ids = [each.ticket_id for each in draft.files]
    await delete_draft_files_by_id(work.tx, key, ticket_ids)
    return ticket_ids
