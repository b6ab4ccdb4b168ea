"""A template and a claim's facts become the text of an SMS.

No markup and no footer: it says who writes in its own words. Lines are kept, blanks folded. Pure.
"""

from collections.abc import Mapping

from dunwell.messages.facts import MessageFacts
from dunwell.messages.formatting import Values
from dunwell.messages.gsm import Parts, count_parts, write_plainly
from dunwell.messages.markdown import parse_lines
from dunwell.messages.parts import fill
from dunwell.messages.placeholders import expand_snippets
from dunwell.messages.rendering import choose_text, choose_words
from dunwell.workflows.definition import SmsTemplate, Texts

# What gateways carry as one message.
MAX_PARTS = 10


def render_sms(
    template: SmsTemplate, snippets: Mapping[str, Texts], language: str, facts: MessageFacts
) -> tuple[str, Parts]:
    """The text in one of the definition's languages, and its parts; there may be more than
    MAX_PARTS of them. Masks are as long as what they stand for, so the parts are those of the text
    that is sent."""
    text = expand_snippets(choose_text(template.body, language), choose_words(snippets, language))
    filled = write_plainly(fill(parse_lines(text), Values(facts, language)))
    return filled, count_parts(filled)
