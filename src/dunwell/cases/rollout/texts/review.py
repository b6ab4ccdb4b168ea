"""What is to be said of one text while it is written: what stops its publishing, and what makes it
hard to read. The rules are those of the whole definition, asked of this text alone, so that an
answer comes while somebody types. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from dunwell.accounts.merchants.configuration import Configuration
from dunwell.cases.rollout.texts.sentences import MOST_WORDS, count_words, list_sentences
from dunwell.contact.messages.checking import find_template_faults
from dunwell.contact.messages.merchant_rules import find_forbidden_words, find_value_faults
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.definition_rules import find_text_faults
from dunwell.core.workflows.text_places import Place, Written, put_text, read_text
from dunwell.platform.errors import Fault


@dataclass(frozen=True, slots=True)
class Review:
    faults: Sequence[Fault]
    # With how many words each has.
    long_sentences: Sequence[tuple[str, int]]
    # Of the longest sentence.
    most_words: int


def review_text(definition: Definition, place: Place, configuration: Configuration) -> Review:
    """Of what stands at the place, its snippets put in. configuration: the merchant's."""
    alone = _leave_alone(definition, place)
    found = [
        *find_text_faults(alone.templates, alone.snippets, alone.settings.languages),
        *find_template_faults(alone),
        *find_forbidden_words(alone, configuration.forbidden_words),
        *find_value_faults(configuration, alone),
    ]
    written = read_text(definition, place) or Written()
    counted = [(each, count_words(each)) for each in list_sentences(written.body)]
    return Review(
        faults=[each for each in dict.fromkeys(found) if each.path in place.pointers],
        long_sentences=[(each, words) for each, words in counted if words > MOST_WORDS],
        most_words=max((words for _, words in counted), default=0),
    )


def _leave_alone(definition: Definition, place: Place) -> Definition:
    """The place's text with the snippets of its language."""
    written = read_text(definition, place)
    snippets = {
        name: {place.language: texts[place.language]}
        for name, texts in definition.snippets.items()
        if place.language in texts
    }
    settings = msgspec.structs.replace(definition.settings, languages=[place.language])
    bare = msgspec.structs.replace(definition, settings=settings, templates={}, snippets=snippets)
    return put_text(bare, place, written)
