"""Find the faults in the texts of a definition. A text that could not be sent cannot be published.
Pure."""

import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.messages.templates.markdown import ParsedText, has_markup, parse_markdown
from dunwell.contact.messages.templates.placeholders import (
    GREETING,
    ITEMS,
    ITEMS_CHARACTERS,
    LANDING_CODE,
    LANDING_URL,
    MAX_DEFINITION_CHARACTERS,
    MAX_MESSAGE_CHARACTERS,
    MAX_TEXT_CHARACTERS,
    PAY_BY,
    PLACEHOLDER,
    PLACEHOLDER_NAMES,
    SNIPPET_PREFIX,
    expand_snippets,
    has_stray_braces,
    list_snippets,
    list_unknown_placeholders,
    list_used_placeholders,
    measure_expanded,
    remove_sentences,
)
from dunwell.contact.messages.templates.rendering import MAX_SMS_PARTS
from dunwell.contact.messages.templates.sms_parts import (
    count_parts,
    fits_gsm_alphabet,
    list_outside_gsm,
    replace_typography,
)
from dunwell.core.workflows.definition import Definition, Template, Texts
from dunwell.platform.errors import Fault
from dunwell.platform.text.shape import render_pointer, suggest_known
from dunwell.platform.text.translation import CountText, LazyText

MandatoryPart = Literal["creditor", "amount", "reference", "link", "contact"]

# The mandatory parts of each message. The footer of an e-mail and the header and footer of a letter
# name the creditor and its contact; a letter also prints reference, link and code. An SMS has only
# its own text; reference and contact are on the linked page.
MANDATORY_PARTS: Mapping[Channel, tuple[MandatoryPart, ...]] = {
    "EMAIL": ("amount", "reference", "link"),
    "SMS": ("creditor", "amount", "link"),
    "LETTER": ("amount",),
}
# Placeholders of which any one provides the part. The table of items ends with the outstanding
# amount.
PROVIDED_BY: Mapping[MandatoryPart, tuple[str, ...]] = {
    "creditor": ("merchant.name", "merchant.legalName"),
    "amount": ("outstanding", ITEMS),
    "reference": ("claim.referenceNumber",),
    "link": (LANDING_URL,),
    "contact": ("merchant.email", "merchant.phone"),
}


def list_missing_parts(channel: Channel, used: Collection[str]) -> Iterator[MandatoryPart]:
    """Yield the mandatory parts that none of the used placeholders provides."""
    for part in MANDATORY_PARTS[channel]:
        if not any(name in used for name in PROVIDED_BY[part]):
            yield part


def describe_missing_part(channel: Channel, part: MandatoryPart) -> LazyText:
    """Return what is missing and how to add it."""
    names = [name for name in PROVIDED_BY[part] if not (channel == "SMS" and name == ITEMS)]
    choice = " or ".join(f"{{{{ {name} }}}}" for name in names)
    match part:
        case "creditor":
            return LazyText("The creditor is missing; add %(choice)s.", choice=choice)
        case "amount":
            return LazyText("The amount to pay is missing; add %(choice)s.", choice=choice)
        case "reference":
            return LazyText("The reference of the claim is missing; add %(choice)s.", choice=choice)
        case "link":
            return LazyText(
                "The link to the debtor page is missing; add %(choice)s.", choice=choice
            )
        case "contact":
            return LazyText("The support contact is missing; add %(choice)s.", choice=choice)


# Arguments: the text with its snippets expanded, its language and its pointer.
ListTextFaults = Callable[[str, str, str], Iterator[Fault]]

_LIMITS = MAX_TEXT_CHARACTERS.values()
_HTML = re.compile(r"<(?:[A-Za-z][A-Za-z0-9-]*(?:[\s/>]|$)|/[A-Za-z]|!)")


@dataclass(frozen=True, slots=True)
class _Message:
    """The texts of a template for one channel."""

    channel: Channel
    subject: Texts
    body: Texts
    list_body_faults: ListTextFaults


def list_template_faults(definition: Definition) -> list[Fault]:
    """Return the faults of all texts, each with its pointer, such as
    /templates/reminder-1/EMAIL/body/de.

    Texts that are too long are only measured, so that the time needed stays within limits.
    """
    size_faults, total = _measure_texts(definition)
    if total > MAX_DEFINITION_CHARACTERS:
        message = LazyText(
            "Including their snippets, all templates of the workflow have %(characters)s "
            "characters; the maximum is %(most)s. Shorten them, or split the workflow.",
            characters=CountText(total), most=CountText(MAX_DEFINITION_CHARACTERS),
        )  # fmt: skip
        return [*size_faults.values(), Fault("/templates", message, "TEXTS_TOO_LONG")]
    return [*size_faults.values(), *_list_faults(definition, size_faults.keys())]


def _measure_texts(definition: Definition) -> tuple[dict[str, Fault], int]:
    """Return a fault by pointer for each text that is too long with its snippets, and the total
    number of characters to be checked."""
    size_faults, total = dict[str, Fault](), 0
    total += sum(len(each) for texts in definition.snippets.values() for each in texts.values())
    for name, template in definition.templates.items():
        for message in _list_messages(template):
            most = MAX_TEXT_CHARACTERS[message.channel]
            path = render_pointer(["templates", name, message.channel])
            for field, texts in (("subject", message.subject), ("body", message.body)):
                for language, text in texts.items():
                    snippet_texts = _choose_snippets(definition, language)
                    size = measure_expanded(text, snippet_texts, ITEMS_CHARACTERS)
                    if size <= most:
                        total += size
                        continue
                    pointer = f"{path}/{field}{render_pointer([language])}"
                    size_faults[pointer] = Fault(
                        pointer, _describe_size(size, most), "MESSAGE_TOO_LONG"
                    )
    return size_faults, total


def _describe_size(size: int, most: int) -> LazyText:
    return LazyText(
        "Including its snippets, the template has %(characters)s characters; the maximum is "
        "%(most)s. Each table of items counts as %(table)s. Shorten it, or use fewer snippets.",
        characters=CountText(size), most=CountText(most), table=CountText(ITEMS_CHARACTERS),
    )  # fmt: skip


def _list_faults(definition: Definition, too_long: Collection[str]) -> Iterator[Fault]:
    """Yield the faults of all texts except those that are too long, which are already reported."""
    for name, texts in definition.snippets.items():
        for language, text in texts.items():
            yield from _list_snippet_faults(text, render_pointer(["snippets", name, language]))
    for name, template in definition.templates.items():
        for full_message in _list_messages(template):
            path = render_pointer(["templates", name, full_message.channel])
            message = _remove_long_texts(full_message, path, too_long)
            yield from _list_text_faults(
                definition, message.subject, f"{path}/subject", _list_line_faults
            )
            yield from _list_text_faults(
                definition, message.body, f"{path}/body", message.list_body_faults
            )
            yield from _list_missing_part_faults(definition, message, f"{path}/body")


def _remove_long_texts(message: _Message, path: str, too_long: Collection[str]) -> _Message:
    def keep(texts: Texts, field: str) -> Texts:
        pointers = {each: f"{path}/{field}{render_pointer([each])}" for each in texts}
        return {each: text for each, text in texts.items() if pointers[each] not in too_long}

    return replace(
        message, subject=keep(message.subject, "subject"), body=keep(message.body, "body")
    )


def _list_messages(template: Template) -> Iterator[_Message]:
    if template.email:
        yield _Message("EMAIL", template.email.subject, template.email.body, _list_email_faults)
    if template.sms:
        yield _Message("SMS", {}, template.sms.body, _list_sms_faults)
    if template.letter:
        yield _Message("LETTER", template.letter.subject, template.letter.body, _list_body_faults)


def _list_text_faults(
    definition: Definition, texts: Texts, path: str, list_faults: ListTextFaults
) -> Iterator[Fault]:
    for language, text in texts.items():
        pointer = path + render_pointer([language])
        yield from _list_placeholder_faults(text, pointer)
        unknown = list(_list_unknown_snippet_faults(text, definition, pointer))
        expanded = _expand(text, definition, language)
        yield from unknown or list_faults(expanded, language, pointer)
        if expanded.strip() and not remove_sentences(expanded, {PAY_BY}).strip():
            message = LazyText(
                "Without a pay-by date the text would be empty because sentences with {{ payBy }} "
                "are left out. Add a sentence without it."
            )
            yield Fault(pointer, message, "ONLY_PAY_BY")


def _list_missing_part_faults(
    definition: Definition, message: _Message, path: str
) -> Iterator[Fault]:
    """Yield the faults of a channel's message that lacks mandatory parts, by language. Subject and
    body are taken together."""
    for language, body in message.body.items():
        # The part of the text that every message has; sentences with the pay-by date may be
        # removed.
        expanded = remove_sentences(_expand(body, definition, language), {PAY_BY})
        if not expanded.strip():
            continue
        used = list_used_placeholders(expanded)
        # A subject may name the claim; everything else must be in the body.
        subject = list_used_placeholders(
            _expand(message.subject.get(language, ""), definition, language)
        )
        used += [name for name in subject if name == "claim.referenceNumber"]
        for part in list_missing_parts(message.channel, used):
            missing_part = describe_missing_part(message.channel, part)
            yield Fault(path + render_pointer([language]), missing_part, "MISSING_PART")


def _expand(text: str, definition: Definition, language: str) -> str:
    """Expand a text whose size was checked before."""
    return expand_snippets(text, _choose_snippets(definition, language), max(_LIMITS))


def _choose_snippets(definition: Definition, language: str) -> dict[str, str]:
    return {name: texts.get(language, "") for name, texts in definition.snippets.items()}


def _list_placeholder_faults(text: str, pointer: str) -> Iterator[Fault]:
    """Yield the faults in the placeholders of a single text."""
    for name in list_unknown_placeholders(text):
        message = LazyText(
            "{{ %(name)s }} is not a placeholder. %(nearest)s",
            name=name, nearest=suggest_known(name, PLACEHOLDER_NAMES),
        )  # fmt: skip
        yield Fault(pointer, message, "UNKNOWN_PLACEHOLDER")
    if has_stray_braces(text):
        message = LazyText("Use double braces only for placeholders, such as {{ debtor.name }}.")
        yield Fault(pointer, message, "BROKEN_PLACEHOLDER")


def _list_snippet_faults(text: str, pointer: str) -> Iterator[Fault]:
    yield from _list_placeholder_faults(text, pointer)
    if list_snippets(text):
        yield Fault(pointer, LazyText("A snippet cannot use another snippet."), "NESTED_SNIPPET")


def _list_unknown_snippet_faults(
    text: str, definition: Definition, pointer: str
) -> Iterator[Fault]:
    known = [*definition.snippets, GREETING]
    for name in list_snippets(text):
        if name not in known:
            message = LazyText(
                "{{ %(prefix)s%(name)s }} is not a snippet of this workflow. %(nearest)s",
                prefix=SNIPPET_PREFIX, name=name, nearest=suggest_known(name, known),
            )  # fmt: skip
            yield Fault(pointer, message, "UNKNOWN_SNIPPET")


def _list_line_faults(text: str, _language: str, pointer: str) -> Iterator[Fault]:
    if not text.strip():
        yield Fault(pointer, LazyText("The text is empty."), "EMPTY_TEXT")
    if ITEMS in list_used_placeholders(text):
        message = LazyText("{{ items }} is a table; use it in the body of an e-mail or a letter.")
        yield Fault(pointer, message, "MISPLACED_ITEMS")


def _list_sms_faults(text: str, language: str, pointer: str) -> Iterator[Fault]:
    """Yield the faults of an SMS. It is plain text, so Markdown marks would be shown literally."""
    yield from _list_line_faults(text, language, pointer)
    yield from _list_code_faults(text, pointer)
    if _HTML.search(text):
        message = LazyText("An SMS is plain text; remove the HTML.")
        yield Fault(pointer, message, "HTML_IN_TEXT")
    if has_markup(text):
        message = LazyText(
            "An SMS is plain text; remove all Markdown (bold, italics, links, lists, headings), "
            "also from the snippets it uses."
        )
        yield Fault(pointer, message, "MARKDOWN_IN_SMS")
    # The length without values: a text that is already too long is refused.
    written = replace_typography(PLACEHOLDER.sub("", text))
    outside = list_outside_gsm(written) if fits_gsm_alphabet(language) else ()
    if outside:
        named = ", ".join(f'"{letter}" (U+{ord(letter):04X})' for letter in outside)
        message = LazyText(
            "These characters switch the SMS to UCS-2 and more than double its cost: %(named)s. "
            "Leave them out.",
            named=named, letters=", ".join(outside),
        )  # fmt: skip
        yield Fault(pointer, message, "OUTSIDE_GSM")
    parts = count_parts(written)
    if parts.count > MAX_SMS_PARTS:
        message = LazyText(
            "The SMS has %(parts)s parts; shorten it to %(most)s.",
            parts=parts.count, most=MAX_SMS_PARTS,
        )  # fmt: skip
        yield Fault(pointer, message, "TOO_LONG")


def _list_code_faults(text: str, pointer: str) -> Iterator[Fault]:
    """Yield a fault if the text uses the letter code. The code proves a known fact, which opening a
    link does not, so only letters may contain it."""
    if LANDING_CODE in list_used_placeholders(text):
        message = LazyText("{{ landing.code }} can be used in letters only; use {{ landing.url }}.")
        yield Fault(pointer, message, "CODE_OUTSIDE_LETTER")


def _list_email_faults(text: str, language: str, pointer: str) -> Iterator[Fault]:
    yield from _list_code_faults(text, pointer)
    yield from _list_body_faults(text, language, pointer)


def _list_body_faults(text: str, _language: str, pointer: str) -> Iterator[Fault]:
    if not text.strip():
        yield Fault(pointer, LazyText("The text is empty."), "EMPTY_TEXT")
        return
    if _HTML.search(text):
        message = LazyText("HTML is not supported; use Markdown.")
        yield Fault(pointer, message, "HTML_IN_TEXT")
    if _has_image(text):
        yield Fault(pointer, LazyText("Images are not supported."), "IMAGE_IN_TEXT")
    parsed = parse_markdown(text)
    yield from _list_markup_size_faults(parsed, pointer)
    for target in parsed.bad_links:
        message = LazyText(
            "A link must start with https:// or be {{ landing.url }}, not %(quoted)s.",
            quoted=repr(target[:60]), target=target[:60],
        )  # fmt: skip
        yield Fault(pointer, message, "BAD_LINK")
    if parsed.has_inline_items:
        message = LazyText("{{ items }} is a table; put it into a separate paragraph.")
        yield Fault(pointer, message, "MISPLACED_ITEMS")


def _has_image(text: str) -> bool:
    """Return whether the text contains `![text](`. A regular expression would scan the rest of the
    text for every `![`."""
    return any(
        "![" in before and after.startswith("(")
        for before, after in itertools.pairwise(text.split("]"))
    )


def _list_markup_size_faults(parsed: ParsedText, pointer: str) -> Iterator[Fault]:
    """Yield a fault if the markup is too large: a paragraph of one character has forty in HTML.
    Half of the message's size is reserved for values."""
    size = sum(len(each) for each in parsed.html if isinstance(each, str))
    most = MAX_MESSAGE_CHARACTERS["EMAIL"] // 2
    if size > most:
        message = LazyText(
            "The formatted text has %(characters)s characters; the maximum is %(most)s. Use fewer "
            "paragraphs, lists and other formatting.",
            characters=CountText(size), most=CountText(most),
        )  # fmt: skip
        yield Fault(pointer, message, "MARKUP_TOO_LONG")
