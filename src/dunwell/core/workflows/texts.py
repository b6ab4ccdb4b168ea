"""The texts of a definition: their locations, and the languages in which each must exist. Pure."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from dunwell.accounts.merchants.configuration import Channel
from dunwell.core.workflows.definition import (
    Definition,
    EmailTemplate,
    LetterTemplate,
    SmsTemplate,
    Template,
    Texts,
)
from dunwell.platform.errors import Fault
from dunwell.platform.text.shape import render_pointer
from dunwell.platform.text.translation import LazyText

Group = Literal["templates", "snippets"]
_NO_TEMPLATE = Template()


@dataclass(frozen=True, slots=True)
class TextPlace:
    """The location of a text. `channel` is None for a snippet, whose text is the same for all
    channels."""

    group: Group
    name: str
    language: str
    channel: Channel | None = None

    @property
    def part(self) -> str:
        """The part of the definition that contains the text (`parts.list_parts`)."""
        return f"{self.group}/{self.name}"

    @property
    def has_subject(self) -> bool:
        return self.channel in ("EMAIL", "LETTER")

    @property
    def pointers(self) -> tuple[str, ...]:
        """The JSON pointers of the texts, from the definition's root."""
        if self.channel is None:
            return (render_pointer([self.group, self.name, self.language]),)
        names = ("subject", "body") if self.has_subject else ("body",)
        return tuple(
            render_pointer([self.group, self.name, self.channel, name, self.language])
            for name in names
        )


@dataclass(frozen=True, slots=True)
class TextContent:
    """The texts at a location. A snippet and an SMS have no subject."""

    body: str = ""
    subject: str = ""


def find_text_place(pointer: str, languages: Collection[str]) -> TextPlace | None:
    """Return the location of the text that a fault's JSON pointer is about, if its language is one
    of `languages`. Return None if the pointer is not about a text."""
    parts = [each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:]]
    language = parts[-1]
    if language not in languages:
        return None
    if parts[0] == "snippets" and len(parts) == 3:
        return TextPlace("snippets", parts[1], language)
    channel = next((each for each in _FIELDS if [each] == parts[2:3]), None)
    if parts[0] == "templates" and len(parts) == 5 and channel is not None:
        return TextPlace("templates", parts[1], language, channel)
    return None


def find_text(definition: Definition, place: TextPlace) -> TextContent | None:
    """Return the texts at the location, or None if there are none."""
    if place.channel is None:
        body = definition.snippets.get(place.name, {}).get(place.language)
        return None if body is None else TextContent(body)
    part = get_channel_texts(definition.templates.get(place.name, _NO_TEMPLATE), place.channel)
    subject = part.get("subject", {}).get(place.language, "")
    body = part.get("body", {}).get(place.language, "")
    return TextContent(body, subject) if subject or body else None


def replace_text(
    definition: Definition, place: TextPlace, content: TextContent | None
) -> Definition:
    """Replace the texts at the location; None or empty texts delete them. A channel, template or
    snippet without texts is deleted too."""
    if place.channel is None:
        texts = _set_text(definition.snippets.get(place.name, {}), place.language, content, "body")
        snippets = _set_member(definition.snippets, place.name, texts or None)
        return msgspec.structs.replace(definition, snippets=snippets)
    template = definition.templates.get(place.name, _NO_TEMPLATE)
    before = get_channel_texts(template, place.channel)
    after = {
        name: _set_text(before.get(name, {}), place.language, content, name)
        for name in (("subject", "body") if place.has_subject else ("body",))
    }
    kept = _build_channel_template(place.channel, after) if any(after.values()) else None
    changed = msgspec.structs.replace(template, **{_FIELDS[place.channel]: kept})
    member = None if changed == _NO_TEMPLATE else changed
    templates = _set_member(definition.templates, place.name, member)
    return msgspec.structs.replace(definition, templates=templates)


def find_part(definition: Definition, place: TextPlace) -> dict[str, Any] | None:
    """Return the template or snippet at the location as JSON, or None if it does not exist."""
    members: Mapping[str, Any] = getattr(definition, place.group)
    value: dict[str, Any] | None = msgspec.to_builtins(members.get(place.name))
    return value


def get_channel_texts(template: Template, channel: Channel) -> dict[str, Texts]:
    """Return a template's texts for a channel, by "subject" and "body". The result is empty if it
    has none."""
    part = getattr(template, _FIELDS[channel])
    return {} if part is None else {name: getattr(part, name) for name in part.__struct_fields__}


def list_places(definition: Definition) -> Iterator[TextPlace]:
    """Yield the locations that have a text, templates first."""
    for name, template in definition.templates.items():
        for channel in _FIELDS:
            texts = get_channel_texts(template, channel)
            for language in dict.fromkeys(
                each for by_language in texts.values() for each in by_language
            ):
                yield TextPlace("templates", name, language, channel)
    for name, snippet in definition.snippets.items():
        yield from (TextPlace("snippets", name, language) for language in snippet)


_FIELDS: Mapping[Channel, str] = {"EMAIL": "email", "SMS": "sms", "LETTER": "letter"}


def _build_channel_template(
    channel: Channel, texts: Mapping[str, Texts]
) -> EmailTemplate | SmsTemplate | LetterTemplate:
    if channel == "SMS":
        return SmsTemplate(body=texts["body"])
    kind = EmailTemplate if channel == "EMAIL" else LetterTemplate
    return kind(subject=texts["subject"], body=texts["body"])


def _set_text(texts: Texts, language: str, content: TextContent | None, name: str) -> Texts:
    """Return the texts with this one replaced. An empty text is deleted."""
    text: str = getattr(content, name) if content is not None else ""
    return _set_member(texts, language, text or None)


def _set_member(members: Mapping[str, Any], name: str, member: Any) -> dict[str, Any]:
    """Replace the member at its position, or append it. None deletes it."""
    if member is not None:
        return {**members, name: member}
    return {key: each for key, each in members.items() if key != name}


def find_text_faults(
    templates: Mapping[str, Template | None],
    snippets: Mapping[str, Texts | None],
    languages: list[str],
) -> Iterator[Fault]:
    """Yield faults with pointers from the definition's root. Parts with a wrong shape are
    left out.
    """
    for name, template in templates.items():
        if template is not None:
            yield from _find_template_faults(name, template, languages)
    for name, texts in snippets.items():
        if texts is not None:
            yield from _find_language_faults(texts, render_pointer(["snippets", name]), languages)


def list_channels(template: Template) -> list[Channel]:
    """Return the channels for which the template has texts."""
    return [channel for channel in _FIELDS if get_channel_texts(template, channel)]


def _find_template_faults(name: str, template: Template, languages: list[str]) -> Iterator[Fault]:
    path = render_pointer(["templates", name])
    if not list_channels(template):
        yield Fault(
            path,
            LazyText("The template is empty; write it for EMAIL, SMS or LETTER."),
            "EMPTY_TEMPLATE",
        )
    for channel, part in (("EMAIL", template.email), ("LETTER", template.letter)):
        if part is not None:
            yield from _find_language_faults(part.subject, f"{path}/{channel}/subject", languages)
            yield from _find_subject_faults(part.subject, f"{path}/{channel}/subject")
            yield from _find_language_faults(part.body, f"{path}/{channel}/body", languages)
    if template.sms is not None:
        yield from _find_language_faults(template.sms.body, f"{path}/SMS/body", languages)


def _find_language_faults(texts: Texts, path: str, languages: list[str]) -> Iterator[Fault]:
    for language in dict.fromkeys(languages):
        if language not in texts:
            message = LazyText(
                'The template is missing in "%(language)s"; add it.', language=language
            )
            yield Fault(path + render_pointer([language]), message, "MISSING_TEXT")
    for language in texts:
        if language not in languages:
            message = LazyText(
                '"%(language)s" is not in settings.languages; add it, or delete the template.',
                language=language,
            )
            yield Fault(path + render_pointer([language]), message, "UNKNOWN_LANGUAGE")


def _find_subject_faults(subjects: Texts, path: str) -> Iterator[Fault]:
    for language, text in subjects.items():
        if len(text.splitlines()) > 1 or text != text.strip():
            message = LazyText(
                "A subject is one line; remove line breaks and spaces at the start and end."
            )
            yield Fault(path + render_pointer([language]), message, "NOT_ONE_LINE")
