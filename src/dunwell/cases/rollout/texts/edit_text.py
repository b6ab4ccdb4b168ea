"""Get, review and change the texts of a workflow one at a time, so that two users can edit
different texts at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import Configuration
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.workflow_views import DRAFT, choose_version
from dunwell.contact.messages.templates.merchant_rules import (
    list_forbidden_word_faults,
    list_missing_value_faults,
)
from dunwell.contact.messages.templates.placeholders import LINE_MARK, split_sentences
from dunwell.contact.messages.templates.template_faults import list_template_faults
from dunwell.core.workflows.change_workflow import check_uses_workflows, lock_workflow_for_change
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.drafts.draft_changes import find_last_change
from dunwell.core.workflows.drafts.edit_draft import EditedDraft, PartEdit, edit_draft
from dunwell.core.workflows.drafts.store import load_open_changes
from dunwell.core.workflows.store import load_assignability, load_current, load_draft
from dunwell.core.workflows.texts import (
    TextContent,
    TextPlace,
    find_part,
    find_text,
    find_text_faults,
    replace_text,
)
from dunwell.core.workflows.versions.store import VersionRow, load_definition, load_versions
from dunwell.platform.errors import EditConflict, Fault, InvalidState, NotFound
from dunwell.platform.text.differences import compute_revision

# Longer sentences are reported. Plain language uses shorter ones.
MAX_SENTENCE_WORDS = 20


def list_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of each line, without the mark of a list or heading."""
    for line in text.splitlines():
        mark = LINE_MARK.match(line)
        for each in split_sentences(line[mark.end() if mark else 0 :]):
            if each.strip():
                yield each.strip()


def count_words(sentence: str) -> int:
    """Return the number of words. A placeholder such as `{{ debtor.name }}` counts as one."""
    return len(sentence.replace("{{ ", "{{").replace(" }}", "}}").split())


@dataclass(frozen=True, slots=True)
class TextReview:
    faults: Sequence[Fault]
    # Long sentences with their number of words.
    long_sentences: Sequence[tuple[str, int]]
    # The number of words in the longest sentence.
    max_words: int


def review_text(
    definition: Definition, place: TextPlace, configuration: Configuration
) -> TextReview:
    """Review the text at the place, with its snippets. `configuration` is the merchant's."""
    isolated = _isolate_text(definition, place)
    faults = [
        *find_text_faults(isolated.templates, isolated.snippets, isolated.settings.languages),
        *list_template_faults(isolated),
        *list_forbidden_word_faults(isolated, configuration.forbidden_words),
        *list_missing_value_faults(configuration, isolated),
    ]
    written = find_text(definition, place) or TextContent()
    counted = [(each, count_words(each)) for each in list_sentences(written.body)]
    return TextReview(
        faults=[each for each in dict.fromkeys(faults) if each.path in place.pointers],
        long_sentences=[(each, words) for each, words in counted if words > MAX_SENTENCE_WORDS],
        max_words=max((words for _, words in counted), default=0),
    )


def _isolate_text(definition: Definition, place: TextPlace) -> Definition:
    """Return a definition with only the text at the place and the snippets of its language."""
    written = find_text(definition, place)
    snippets = {
        name: {place.language: texts[place.language]}
        for name, texts in definition.snippets.items()
        if place.language in texts
    }
    settings = msgspec.structs.replace(definition.settings, languages=[place.language])
    bare = msgspec.structs.replace(definition, settings=settings, templates={}, snippets=snippets)
    return replace_text(bare, place, written)


@dataclass(frozen=True, slots=True)
class WorkflowTexts:
    """A workflow's definition in one version, and the list of its versions, oldest first."""

    workflow_id: UUID
    workflow: str
    version: VersionRow
    versions: Sequence[VersionRow]
    definition: Definition

    @property
    def is_newest(self) -> bool:
        """True if `version` is the one that an edit starts from: the draft, or else the latest
        version."""
        return self.version == self.versions[-1]


async def get_workflow_texts(
    work: Work, workflow_id: UUID, version: str | None = None
) -> WorkflowTexts:
    """Return the texts. `version` is v1.2, draft or latest; None means the draft, or the latest
    version if there is no draft.

    Raises NotFound, and InvalidState if the merchant has scenarios.
    """
    work.require(Right.CONFIGURE)
    check_uses_workflows(work.merchant)
    known = await load_assignability(work.tx, work.merchant_id, workflow_id)
    if known is None:
        raise NotFound("There is no such workflow.")
    versions = await load_versions(work.tx, work.merchant_id, workflow_id)
    has_draft = any(each.name == DRAFT for each in versions)
    chosen = choose_version(versions, version or (DRAFT if has_draft else None))
    definition = await load_definition(work.tx, work.merchant_id, workflow_id, chosen.version_id)
    if definition is None:
        raise NotFound("The draft has just been discarded. Open the workflow again.")
    name, _ = known
    return WorkflowTexts(
        workflow_id, name, version=chosen, versions=versions, definition=definition
    )


async def edit_text(
    work: Work,
    workflow_id: UUID,
    place: TextPlace,
    written: TextContent | None,
    *,
    expected_revision: str,
) -> EditedDraft:
    """Save a text, or remove it if `written` is None. `expected_revision` is the
    revision (`compute_revision`) of the text that the author saw.

    Raises EditConflict, and what `edit_draft` raises.
    """
    work.require(Right.CONFIGURE)
    await lock_workflow_for_change(work, workflow_id)
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    newest = draft or await load_current(work.tx, work.merchant_id, workflow_id)
    if newest is None:
        raise InvalidState("The workflow has neither a draft nor a version.", state="EMPTY")
    definition = newest.definition
    present = find_text(definition, place)
    # There is no conflict if the present text is already the wanted one.
    if expected_revision != compute_revision(present) and present != written:
        changes = await load_open_changes(work.tx, work.merchant_id, workflow_id)
        raise EditConflict(
            "The text was changed since you opened it. Compare it with yours and save again.",
            part=place.part,
            current=present,
            change=find_last_change(changes, place.part),
        )
    part_after = find_part(replace_text(definition, place, written), place)
    part_revision = compute_revision(find_part(definition, place))
    return await edit_draft(work, workflow_id, PartEdit(place.part, part_revision, part_after))
