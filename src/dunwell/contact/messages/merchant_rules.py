"""What a definition asks of its merchant's configuration: values for the placeholders that its
texts use, and quiet hours that leave something of its contact hours. Pure.
"""

from collections.abc import Iterator
from typing import Protocol

from dunwell.accounts.merchants.configuration import Configuration, find_missing
from dunwell.contact.messages.forbidden_words import list_texts
from dunwell.contact.messages.placeholders import find_used
from dunwell.core.workflows.definition import ContactHours, Definition
from dunwell.platform.errors import Fault
from dunwell.platform.text.lazy_text import LazyText
from dunwell.platform.text.shape import render_pointer


def find_value_faults(configuration: Configuration, definition: Definition) -> Iterator[Fault]:
    """Placeholders that the merchant's configuration has no value for, with pointers from the
    definition's root; none while the merchant is half set up.

    What a claim may lack (a contract number, say) becomes nothing in a message; what no claim of
    this merchant will ever have leaves a hole in every one."""
    if find_missing(configuration):
        return
    keys = dict(_list_absent(configuration))
    for path, texts in list_texts(definition):
        for language, text in texts.items():
            for name in find_used(text):
                if name in keys:
                    message = LazyText(
                        "{{ %(name)s }} stays empty: set %(key)s, or take it out.",
                        name=name, key=keys[name],
                    )  # fmt: skip
                    yield Fault(path + render_pointer([language]), message, "MISSING_VALUE")


def _list_absent(configuration: Configuration) -> Iterator[tuple[str, str]]:
    """Placeholders without a value, and the merchant file's key that would give it."""
    if configuration.payment.bank_account is None:
        yield from ((name, "payment.bankAccount") for name in ("bank.iban", "bank.holder"))
    if configuration.contact is not None and configuration.contact.phone is None:
        yield "merchant.phone", "contact.phone"


class Hours(Protocol):
    """HH:MM; text order is time order. Past midnight when `until` is before `since`."""

    @property
    def since(self) -> str: ...

    @property
    def until(self) -> str: ...


def find_quiet_faults(configuration: Configuration, definition: Definition) -> Iterator[Fault]:
    """Contact hours of which the quiet hours leave nothing, so that messages would wait for ever.
    Hours of another zone are not compared: they lie differently in summer and in winter."""
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


def is_all_quiet(quiet: Hours, hours: ContactHours) -> bool:
    if quiet.since < quiet.until:
        return quiet.since <= hours.since and hours.until <= quiet.until
    return quiet.since <= hours.since or hours.until <= quiet.until
