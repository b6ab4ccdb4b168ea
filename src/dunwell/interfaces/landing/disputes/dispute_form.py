"""The form of a dispute: parsing its answers, and saving and loading its draft with the files."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from dunwell.cases.disputes.reasons import (
    MESSAGE_FIELD,
    DisputeQuestion,
    OfferedReason,
    QuestionKind,
    list_answer_faults,
    list_questions,
)
from dunwell.core.files.uploads import discard_uploads
from dunwell.interfaces.landing.disputes.receive_form import FileRefusal, ReceivedForm
from dunwell.interfaces.landing.disputes.submit_dispute import (
    SUBJECT,
    SavedDisputeDraft,
    save_form_draft,
)
from dunwell.interfaces.landing.disputes.views import QuestionsState
from dunwell.interfaces.landing.session.drafts import (
    FormDraft,
    SubmittedForm,
    build_claim_draft_key,
    put_version_first,
)
from dunwell.interfaces.landing.session.store import OpenedClaim, delete_draft_file, load_draft
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.web.amounts import parse_amount
from dunwell.platform.errors import Fault, Unavailable
from dunwell.platform.text.texts import is_printable

# The value of an answer that could not be parsed. Every kind of question rejects it as a fault.
_UNREADABLE = "?"
_DATE_PARTS = ("year", "month", "day")


@dataclass(frozen=True, slots=True)
class ParsedAnswers:
    answers: Mapping[str, str]
    message: str | None
    faults: list[Fault]


def list_fields(reason: OfferedReason) -> list[str]:
    """Return the names of the fields that a draft keeps."""
    fields: list[str] = []
    for question in list_questions(reason):
        fields += _list_parts(question)
    return [*fields, MESSAGE_FIELD]


def extract_fields(reason: OfferedReason, form: Mapping[str, str]) -> dict[str, str]:
    """Return the typed texts without characters that cannot be shown."""
    entered = {
        name: _remove_control_characters(form[name]) for name in list_fields(reason) if name in form
    }
    return {name: text for name, text in entered.items() if text.strip()}


def parse_answers(
    reason: OfferedReason, fields: Mapping[str, str], currency: str, language: str, today: date
) -> ParsedAnswers:
    """Parse the answers. `fields` come from `extract_fields`, and `language` is the language they
    were entered in."""
    answers: dict[str, str] = {}
    for question in list_questions(reason):
        typed = [fields.get(name, "").strip() for name in _list_parts(question)]
        if any(typed):
            answers[question.name] = _parse_answer(question, typed, currency, language)
    message = fields.get(MESSAGE_FIELD, "").strip() or None
    faults = list(list_answer_faults(reason, answers, message, today))
    return ParsedAnswers(answers, message, faults)


def _list_parts(question: DisputeQuestion) -> list[str]:
    if question.kind is QuestionKind.DAY:
        return [f"{question.name}_{part}" for part in _DATE_PARTS]
    return [question.name]


def _parse_answer(question: DisputeQuestion, typed: list[str], currency: str, language: str) -> str:
    if question.kind is QuestionKind.DAY:
        return _parse_day(typed)
    if question.kind is QuestionKind.AMOUNT:
        cents = parse_amount(typed[0], currency, language)
        return _UNREADABLE if cents is None else str(cents)
    return typed[0]


def _parse_day(typed: list[str]) -> str:
    """Parse the year, the month and the day."""
    if not all(part.isdecimal() and part.isascii() for part in typed):
        return _UNREADABLE
    year, month, day = typed
    return f"{year:0>4}-{month:0>2}-{day:0>2}"


def _remove_control_characters(text: str) -> str:
    if is_printable(text):
        return text
    return "".join(letter for letter in text if is_printable(letter))


_MAX_REVISION_DIGITS = 9


async def save_typed_form(
    site: DebtorSite, opened: OpenedClaim, typed: SubmittedForm, removed: str
) -> SavedDisputeDraft:
    """Save the form as a draft. `removed` is the id of the upload that the debtor has removed, or
    ""."""
    ticket_id = _parse_ticket_id(removed)
    async with site.resources.database.transaction() as tx:
        work = site.build_work(tx, opened.merchant, opened.session.session_id)
        saved = await save_form_draft(work, opened.facts.claim_id, typed)
        key = build_claim_draft_key(work.merchant_id, opened.facts.claim_id, typed.subject)
        is_removed = ticket_id is not None and await delete_draft_file(tx, key, ticket_id)
    if ticket_id is not None and is_removed:
        with suppress(Unavailable):
            await discard_uploads(
                site.resources.database, site.storage, opened.merchant.merchant_id, [ticket_id]
            )
    return saved


async def load_dispute_draft(
    site: DebtorSite, opened: OpenedClaim, reason: OfferedReason, state: QuestionsState
) -> FormDraft:
    """Load the draft for this reason, or an empty one if there is none."""
    subject, may_be_new = (
        _build_subject(reason),
        state.faults or state.refusals or state.has_conflicting_state,
    )
    if subject not in opened.drafts and not may_be_new:
        return FormDraft(subject)
    key = build_claim_draft_key(opened.merchant.merchant_id, opened.facts.claim_id, subject)
    async with site.resources.database.connection() as connection:
        draft = await load_draft(connection, key)
    return (
        draft
        if state.conflicting_text is None
        else put_version_first(draft, state.conflicting_text)
    )


def parse_dispute_form(
    site: DebtorSite, reason: OfferedReason, received: ReceivedForm
) -> SubmittedForm:
    return SubmittedForm(
        _build_subject(reason),
        _parse_form_id(site, received.fields.get("form", "")),
        fields=extract_fields(reason, received.fields),
        uploads=received.uploads,
        revision=_parse_revision(received.fields.get("revision", "")),
    )


def _parse_revision(given: str) -> int | None:
    is_number = given.isascii() and given.isdecimal() and len(given) < _MAX_REVISION_DIGITS
    return int(given) if is_number else None


def list_refusals(received: ReceivedForm, saved: SavedDisputeDraft) -> list[FileRefusal]:
    return [*received.refusals, *([FileRefusal("TOO_MANY")] if saved.has_omitted_files else [])]


def _parse_ticket_id(given: str) -> UUID | None:
    try:
        return UUID(given)
    except ValueError:
        return None


def _parse_form_id(site: DebtorSite, given: str) -> UUID:
    """Return the id of this rendering of the form, or a new one if the text is not an id."""
    try:
        return UUID(given)
    except ValueError:
        return site.resources.ids.new(site.now())


def _build_subject(reason: OfferedReason) -> str:
    return SUBJECT + reason.name
