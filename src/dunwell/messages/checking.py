"""What is wrong with a definition's texts: it stops publishing so that nothing stops sending. Pure.

Languages and missing texts are the definition's own business (`workflows.checking`).
"""

import re
from collections.abc import Callable, Iterator

from dunwell.errors import Fault
from dunwell.kit.shape import render_nearest, render_pointer
from dunwell.messages.markdown import parse_markdown
from dunwell.messages.placeholders import (
    ITEMS,
    NAMES,
    SNIPPET_PREFIX,
    expand_snippets,
    find_snippets,
    find_unknown,
    find_used,
    has_stray_braces,
)
from dunwell.workflows.definition import Definition, Template, Texts

# A whole text, its snippets put in, and its pointer.
Check = Callable[[str, str], Iterator[Fault]]

_HTML = re.compile(r"<(?:[A-Za-z][A-Za-z0-9-]*(?:[\s/>]|$)|/[A-Za-z]|!)")
_IMAGE = re.compile(r"!\[[^\]]*\]\(")


def find_template_faults(definition: Definition) -> list[Fault]:
    """Every fault of every text, each with its pointer: /templates/reminder-1/EMAIL/body/de."""
    return list(_find_faults(definition))


def _find_faults(definition: Definition) -> Iterator[Fault]:
    for name, texts in definition.snippets.items():
        for language, text in texts.items():
            yield from _check_snippet(text, render_pointer(["snippets", name, language]))
    for name, template in definition.templates.items():
        for place, texts, check in _list_texts(template):
            for language, text in texts.items():
                pointer = render_pointer(["templates", name, *place, language])
                yield from _check_words(text, pointer)
                unknown = list(_check_snippets_known(text, definition, pointer))
                yield from unknown or check(_expand(text, definition, language), pointer)


def _expand(text: str, definition: Definition, language: str) -> str:
    words = {name: texts.get(language, "") for name, texts in definition.snippets.items()}
    return expand_snippets(text, words)


def _list_texts(template: Template) -> Iterator[tuple[tuple[str, str], Texts, Check]]:
    """Each text's place, itself in all languages, and what to check the whole of it by."""
    if template.email:
        yield ("EMAIL", "subject"), template.email.subject, _check_line
        yield ("EMAIL", "body"), template.email.body, _check_body
    if template.sms:
        yield ("SMS", "body"), template.sms.body, _check_line
    if template.letter:
        yield ("LETTER", "subject"), template.letter.subject, _check_line
        yield ("LETTER", "body"), template.letter.body, _check_body


def _check_words(text: str, pointer: str) -> Iterator[Fault]:
    """What can be said of a text by itself: its placeholders."""
    for name in find_unknown(text):
        message = f"{{{{ {name} }}}} is no placeholder. {render_nearest(name, NAMES)}"
        yield Fault(pointer, message, "UNKNOWN_PLACEHOLDER")
    if has_stray_braces(text):
        message = "Double braces stand around placeholders only, like {{ debtor.name }}."
        yield Fault(pointer, message, "BROKEN_PLACEHOLDER")


def _check_snippet(text: str, pointer: str) -> Iterator[Fault]:
    yield from _check_words(text, pointer)
    if find_snippets(text):
        yield Fault(pointer, "A snippet cannot use another snippet.", "NESTED_SNIPPET")


def _check_snippets_known(text: str, definition: Definition, pointer: str) -> Iterator[Fault]:
    for name in find_snippets(text):
        if name not in definition.snippets:
            nearest = render_nearest(name, list(definition.snippets))
            message = f"{{{{ {SNIPPET_PREFIX}{name} }}}} names no snippet. {nearest}"
            yield Fault(pointer, message, "UNKNOWN_SNIPPET")


def _check_line(text: str, pointer: str) -> Iterator[Fault]:
    if not text.strip():
        yield Fault(pointer, "The text is empty.", "EMPTY_TEXT")
    if ITEMS in find_used(text):
        message = "{{ items }} is a table; use it in the body of an e-mail or a letter."
        yield Fault(pointer, message, "MISPLACED_ITEMS")


def _check_body(text: str, pointer: str) -> Iterator[Fault]:
    if not text.strip():
        yield Fault(pointer, "The text is empty.", "EMPTY_TEXT")
        return
    if _HTML.search(text):
        yield Fault(pointer, "HTML is not taken here; use Markdown.", "HTML_IN_TEXT")
    if _IMAGE.search(text):
        yield Fault(pointer, "Images are not taken here.", "IMAGE_IN_TEXT")
    parsed = parse_markdown(text)
    for target in parsed.bad_links:
        message = f"A link leads to https://… or to {{{{ landing.url }}}}, not to {target[:60]!r}."
        yield Fault(pointer, message, "BAD_LINK")
    if parsed.has_items_in_line:
        message = "{{ items }} is a table; let it stand alone in its paragraph."
        yield Fault(pointer, message, "MISPLACED_ITEMS")
