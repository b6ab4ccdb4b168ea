"""The configuration that a workflow requires of its merchant, and the words that messages must not
use. Pure."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from dunwell.accounts.merchants.configuration import Configuration, list_missing_keys
from dunwell.contact.messages.templates.placeholders import list_used_placeholders
from dunwell.core.workflows.definition import Definition, Texts, WorkflowContactHours
from dunwell.platform.errors import Fault
from dunwell.platform.text.shape import render_pointer
from dunwell.platform.text.translation import LazyText

# Words and phrases by language; case does not matter. A * stands for any beginning or ending, and
# an umlaut also for its two-letter spelling. The forms of "pfänden" are listed one by one, because
# "empfände" belongs to another verb.
STANDARD_FORBIDDEN_WORDS: Mapping[str, Sequence[str]] = {
    "de": (
        "Betrüger*", "Gefängnis*", "Gerichtsvollzieher*", "Haftbefehl*", "Hausbesuch*",
        "letzte Warnung", "Pfandsiegel*", "pfänd*", "*pfändung*", "*pfändbar*", "*gepfänd*",
        "*zupfänden", "abpfänd*", "auspfänd*", "einpfänd*", "nachpfänd*",
        "überpfänd*", "verpfänd*", "vorpfänd*", "wegpfänd*", "Polizei", "Pranger", "Schufa*",
        "Schuldner", "Schuldnerin", "Schuldnerverzeichnis*", "Strafanzeige*",
        "Zwangsvollstreckung*",
    ),
    "en": (
        "arrest*", "bailiff*", "blacklist*", "court action", "credit rating", "criminal*",
        "deadbeat*", "final warning", "fraud*", "garnish*", "jail*", "lawsuit*", "police",
        "prison*", "repossess*", "sue", "sued",
    ),
}  # fmt: skip

_TWO_LETTERS = {"ä": "ae", "ö": "oe", "ü": "ue"}
_UMLAUT = re.compile("[äöü]", re.IGNORECASE)


def list_forbidden_word_faults(
    definition: Definition, own: Mapping[str, Sequence[str]]
) -> Iterator[Fault]:
    """Yield a fault for each text that uses forbidden words, with the pointer to the text.

    `own` has the merchant's own lists by language.
    """
    words = {**STANDARD_FORBIDDEN_WORDS, **own}
    patterns = {
        language: _build_pattern(own_words) for language, own_words in words.items() if own_words
    }
    for path, texts in list_texts(definition):
        for language, text in texts.items():
            pattern = patterns.get(language) or patterns.get(language.partition("-")[0])
            forbidden = dict.fromkeys(pattern.findall(_remove_marks(text))) if pattern else {}
            if forbidden:
                named = ", ".join(f'"{word}"' for word in forbidden)
                message = LazyText(
                    "Messages to debtors must not contain %(words)s. Remove the words.", words=named
                )
                yield Fault(path + render_pointer([language]), message, "FORBIDDEN_WORD")


def list_texts(definition: Definition) -> Iterator[tuple[str, Texts]]:
    """Yield all texts of a definition by language, with the pointer to each."""
    for name, texts in definition.snippets.items():
        yield render_pointer(["snippets", name]), texts
    for name, template in definition.templates.items():
        path = render_pointer(["templates", name])
        for channel, message in (("EMAIL", template.email), ("LETTER", template.letter)):
            if message is not None:
                yield f"{path}/{channel}/subject", message.subject
                yield f"{path}/{channel}/body", message.body
        if template.sms is not None:
            yield f"{path}/SMS/body", template.sms.body


def _build_pattern(words: Sequence[str]) -> re.Pattern[str]:
    alternatives = "|".join(
        (r"\w*" if word.startswith("*") else "")
        + _UMLAUT.sub(_match_umlaut, re.escape(word.strip("*")).replace(r"\ ", r"\s+"))
        + (r"\w*" if word.endswith("*") else "")
        for word in words
    )
    return re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)", re.IGNORECASE)


def _match_umlaut(umlaut: re.Match[str]) -> str:
    """Return a pattern for an umlaut or its two-letter spelling."""
    letter = umlaut.group()
    return f"(?:{letter}|{_TWO_LETTERS[letter.lower()]})"


def _remove_marks(text: str) -> str:
    """Return the text without Markdown marks and soft hyphens, in normalized form."""
    text = unicodedata.normalize("NFC", text)
    return text.translate({ord(mark): None for mark in "*_\u00ad\u200b"})


def list_missing_value_faults(
    configuration: Configuration, definition: Definition
) -> Iterator[Fault]:
    """Yield a fault for each placeholder that the merchant's configuration leaves empty, with its
    pointer. Yield nothing while the merchant is not completely configured.

    A value that one claim lacks (such as a contract number) is left out of a message. A value that
    no claim of the merchant can have would be missing in every message.
    """
    if list_missing_keys(configuration):
        return
    keys = dict(_list_absent(configuration))
    for path, texts in list_texts(definition):
        for language, text in texts.items():
            for name in list_used_placeholders(text):
                if name in keys:
                    message = LazyText(
                        "{{ %(name)s }} is empty: set %(key)s in the merchant's settings, or "
                        "remove the placeholder.",
                        name=name, key=keys[name],
                    )  # fmt: skip
                    yield Fault(path + render_pointer([language]), message, "MISSING_VALUE")


def _list_absent(configuration: Configuration) -> Iterator[tuple[str, str]]:
    """Yield placeholders without a value, with the key of the merchant file that sets it."""
    if configuration.payment.bank_account is None:
        yield from ((name, "payment.bankAccount") for name in ("bank.iban", "bank.holder"))
    if configuration.contact is not None and configuration.contact.phone is None:
        yield "merchant.phone", "contact.phone"


class HoursOfDay(Protocol):
    """Hours in the form HH:MM, which sort as text. They span midnight if `until` is before
    `since`."""

    @property
    def since(self) -> str: ...

    @property
    def until(self) -> str: ...


def list_quiet_hour_faults(configuration: Configuration, definition: Definition) -> Iterator[Fault]:
    """Yield a fault if the quiet hours leave nothing of the contact hours, so that messages would
    wait forever. Hours of different time zones are not compared, because their difference changes
    with daylight saving time."""
    quiet, settings = configuration.guards.quiet_hours, definition.settings
    if quiet is None or settings.contact_hours is None:
        return
    if settings.timezone not in (None, configuration.timezone):
        return
    if is_all_quiet(quiet, settings.contact_hours):
        message = (
            f"The merchant's quiet hours ({quiet.since} to {quiet.until}) leave nothing of these; "
            "e-mails and SMS would never go out."
        )
        yield Fault("/settings/contactHours", message, "EMPTY_HOURS")


def is_all_quiet(quiet: HoursOfDay, hours: WorkflowContactHours) -> bool:
    """Return whether all contact hours are quiet hours."""
    if quiet.since < quiet.until:
        return quiet.since <= hours.since and hours.until <= quiet.until
    return quiet.since <= hours.since or hours.until <= quiet.until
