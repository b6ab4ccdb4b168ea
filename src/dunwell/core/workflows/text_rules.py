"""Every text of a definition exists in each of its languages, and in no other. Pure."""

from collections.abc import Iterator, Mapping

from dunwell.core.workflows.definition import (
    Template,
    Texts,
)
from dunwell.platform.errors import Fault
from dunwell.platform.text.lazy_text import LazyText
from dunwell.platform.text.shape import render_pointer


def find_text_faults(
    templates: Mapping[str, Template | None],
    snippets: Mapping[str, Texts | None],
    languages: list[str],
) -> Iterator[Fault]:
    """Faults with pointers from the definition's root; parts of another shape are left out."""
    for name, template in templates.items():
        if template is not None:
            yield from _find_template_faults(name, template, languages)
    for name, texts in snippets.items():
        if texts is not None:
            yield from _find_missing(texts, render_pointer(["snippets", name]), languages)


def channels_of(template: Template) -> list[str]:
    """The channels a template has texts for."""
    parts = {"EMAIL": template.email, "SMS": template.sms, "LETTER": template.letter}
    return [channel for channel, part in parts.items() if part is not None]


def _find_template_faults(name: str, template: Template, languages: list[str]) -> Iterator[Fault]:
    path = render_pointer(["templates", name])
    if not channels_of(template):
        yield Fault(path, LazyText("Give the texts of EMAIL, SMS or LETTER."), "EMPTY_TEMPLATE")
    for channel, part in (("EMAIL", template.email), ("LETTER", template.letter)):
        if part is not None:
            yield from _find_missing(part.subject, f"{path}/{channel}/subject", languages)
            yield from _find_breaks(part.subject, f"{path}/{channel}/subject")
            yield from _find_missing(part.body, f"{path}/{channel}/body", languages)
    if template.sms is not None:
        yield from _find_missing(template.sms.body, f"{path}/SMS/body", languages)


def _find_missing(texts: Texts, path: str, languages: list[str]) -> Iterator[Fault]:
    for language in dict.fromkeys(languages):
        if language not in texts:
            message = LazyText('The text is missing in "%(language)s"; add it.', language=language)
            yield Fault(path + render_pointer([language]), message, "MISSING_TEXT")
    for language in texts:
        if language not in languages:
            message = LazyText(
                '"%(language)s" is not among settings.languages; add it there or remove this.',
                language=language,
            )
            yield Fault(path + render_pointer([language]), message, "UNKNOWN_LANGUAGE")


def _find_breaks(subjects: Texts, path: str) -> Iterator[Fault]:
    for language, text in subjects.items():
        if len(text.splitlines()) > 1 or text != text.strip():
            message = LazyText("A subject is one line; remove line breaks and space at its ends.")
            yield Fault(path + render_pointer([language]), message, "NOT_ONE_LINE")
