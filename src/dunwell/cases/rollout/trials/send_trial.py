"""Send a message as a test to the e-mail address of the signed-in user, and to no other address.

The test is not a contact: it is not in the ledger, and guards do not count it. Its links and codes
lead nowhere, and its subject is marked as a test.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import ActorKind
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.store import load_user
from dunwell.cases.rollout.preview.preview_message import (
    PreparedMessage,
    WantedMessage,
    prepare_message,
)
from dunwell.contact.escalation.contacts.compose_contact import build_message
from dunwell.contact.sending.channel import Message
from dunwell.core.workflows.definition import Definition
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.attempts import count_attempt, load_attempts
from dunwell.platform.errors import Fault, InvalidState, RateLimited, ValidationError
from dunwell.platform.resources import Resources

# How many tests one user may send within `_WINDOW`.
MAX_TRIALS = 20
_WINDOW = timedelta(hours=1)
_ATTEMPT_KIND = "trial-messages"
_SUBJECT_PREFIX = "[Test] "
# Bounces of the message belong to no claim.
_NO_CLAIM = 0


@dataclass(frozen=True, slots=True)
class PreparedTrial:
    trial_id: UUID
    wanted: WantedMessage
    message: PreparedMessage
    recipient: str
    created_at: datetime


async def prepare_trial(
    work: Work, resources: Resources, definition: Definition, wanted: WantedMessage
) -> PreparedTrial:
    """Prepare the message, in a first transaction.

    Raises what `prepare_message` raises, ValidationError if users have no address for the channel,
    and InvalidState if the merchant sends no e-mail or the actor is not a user.
    """
    work.require(Right.CONFIGURE)
    if wanted.channel != "EMAIL":
        problem = "Users only have an e-mail address; use the preview instead."
        raise ValidationError([Fault("/channel", problem, "NO_ADDRESS")])
    if "EMAIL" not in work.merchant.configuration.channels:
        problem = "The merchant has no channel for e-mail; add one to its file."
        raise InvalidState(problem, state="NO_CHANNEL")
    recipient = await _get_own_address(work)
    trial_id = work.ids.new(work.real_now)
    message = await prepare_message(work, resources, definition, wanted, contact_id=trial_id)
    return PreparedTrial(trial_id, wanted, message, recipient=recipient, created_at=work.now)


async def record_trial(work: Work, resources: Resources, trial: PreparedTrial, about: str) -> None:
    """Record the test in a second transaction, before it is sent (`Adapters.call`). `about` is the
    subject of the audit entry. Raises RateLimited."""
    work.require(Right.CONFIGURE)
    await _count_trial(work, resources.keys)
    await save_audit(
        work, "text.send_trial", about,
        template=trial.wanted.template, channel=trial.wanted.channel,
        trialId=str(trial.trial_id),
    )  # fmt: skip


async def write_trial(trial: PreparedTrial) -> Message:
    """Render the message, outside any transaction. Raises ValidationError if the channel cannot
    carry it."""
    rendered, source = await trial.message.write(), trial.message.writer.source
    message = build_message(source, rendered.planned.contact, rendered.content, trial.created_at)
    return replace(
        message,
        claim_id=_NO_CLAIM,
        recipient=trial.recipient,
        subject=f"{_SUBJECT_PREFIX}{message.subject or ''}",
        unsubscribe_url=None,
    )


async def _get_own_address(work: Work) -> str:
    """Return the acting user's address. Raises InvalidState if the actor is not a user."""
    actor = work.actor
    user = None
    if actor.kind is ActorKind.USER and actor.actor_id:
        user = await load_user(work.tx, UUID(actor.actor_id))
    if user is None:
        problem = "Tests go to the signed-in user; sign in to the portal."
        raise InvalidState(problem, state="NO_USER")
    return user.email


async def _count_trial(work: Work, keys: KeyRing) -> None:
    """Count the test. Concurrent calls wait for each other, so that they cannot exceed the limit.
    Raises RateLimited."""
    assert work.actor.actor_id is not None
    subject = keys.digest(_ATTEMPT_KIND, UUID(work.actor.actor_id).bytes, min(keys.versions))
    sent = await load_attempts(work.tx, subject)
    if sent is not None and sent.first_at + _WINDOW <= work.real_now:
        sent = None
    if sent is not None and sent.count >= MAX_TRIALS:
        wait = sent.first_at + _WINDOW - work.real_now
        problem = f"You have sent {MAX_TRIALS} tests within an hour. Try again later."
        raise RateLimited(problem, retry_after=int(wait.total_seconds()) + 1)
    await count_attempt(work.tx, subject, sent, work.real_now)
