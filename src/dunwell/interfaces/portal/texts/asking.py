"""What the addresses of these pages say: which text, for which claim, and where that is not one."""

from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import CHANNELS
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.preview.preview_message import Wanted
from dunwell.cases.rollout.preview.sample_contact import CASES, Case
from dunwell.cases.rollout.texts.edit_text import OpenedTexts, open_texts
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.text_places import Group, Place
from dunwell.interfaces.portal.web.access import Access
from dunwell.interfaces.portal.web.looking import find_typed_claims, look_at_claim, read_id
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.platform.errors import NotFound, ValidationError

# As long as a name may be, and what somebody types for a claim.
_LONGEST_NAME, _MOST_TYPED = 255, 200


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose claim a text is shown for. `claim_id`: None: one that is made up, by its `case`.
    `is_unknown`: what was typed is no claim, or several: the made-up one stands in its place."""

    case: Case = "USUAL"
    typed: str = ""
    claim_id: int | None = None
    is_unknown: bool = False


async def open_asked(work: Work, visit: PortalRequest) -> OpenedTexts:
    """The version that the address names, else the draft, else the latest. Raises NotFound."""
    work.need(Right.READ_CLAIMS)
    return await open_texts(work, read_id(visit, "workflow_id"), visit.ask("version") or None)


def read_place(visit: PortalRequest, definition: Definition) -> Place:
    """Nothing need be written there yet. Raises NotFound for what can be no place."""
    language, channel = visit.ask("language"), visit.ask("channel")
    template, snippet = visit.ask("template"), visit.ask("snippet")
    name = template or snippet
    if language not in definition.settings.languages or not 0 < len(name) <= _LONGEST_NAME:
        raise NotFound("There is no such text.")
    if snippet and not template and not channel:
        return Place("snippets", snippet, language)
    found = next((each for each in CHANNELS if each == channel), None)
    group: Group = "templates"
    if found is None or snippet:
        raise NotFound("There is no such text.")
    return Place(group, template, language, found)


def read_wanted(visit: PortalRequest, definition: Definition, subject: Subject) -> Wanted:
    """A text that is there, or may be. Raises NotFound."""
    place = read_place(visit, definition)
    if place.channel is None:
        raise NotFound("A snippet is no message.")
    return Wanted(
        place.name,
        place.channel,
        language=place.language,
        claim_id=subject.claim_id,
        case=subject.case,
    )


async def find_subject(work: Work, visit: PortalRequest, access: Access) -> Subject:
    """A look at a claim is kept, where a merchant's own staff looks."""
    work.need(Right.READ_CLAIMS)
    case = next((each for each in CASES if each == visit.ask("case")), CASES[0])
    typed = visit.ask("claim")[:_MOST_TYPED]
    if not typed:
        return Subject(case)
    found = await find_typed_claims(work, typed)
    if len(found) != 1:
        return Subject(case, typed, is_unknown=True)
    await look_at_claim(work, access, found[0])
    return Subject(case, typed, found[0])


def describe_faults(refusal: ValidationError) -> list[str]:
    """By their codes."""
    return [fault.code for fault in refusal.faults]


def name_place(place: Place, version: str = "") -> dict[str, str | None]:
    """As the query of an address has it."""
    name = "template" if place.group == "templates" else "snippet"
    return {
        name: place.name, "channel": place.channel, "language": place.language, "version": version,
    }  # fmt: skip


def name_workflow(workflow_id: UUID) -> str:
    """In the audit log."""
    return f"workflow:{workflow_id}"
