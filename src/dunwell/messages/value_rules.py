"""Placeholders a merchant's texts use and its configuration has no value for.

What a claim may lack (a contract number, say) becomes nothing in a message; what no claim of this
merchant will ever have leaves a hole in every one. Pure.
"""

from collections.abc import Iterator

from dunwell.errors import Fault, Said
from dunwell.kit.shape import render_pointer
from dunwell.merchants.configuration import Configuration, find_missing
from dunwell.messages.forbidden_words import list_texts
from dunwell.messages.placeholders import find_used
from dunwell.workflows.definition import Definition


def find_value_faults(configuration: Configuration, definition: Definition) -> Iterator[Fault]:
    """Faults with pointers from the definition's root; none while the merchant is half set up."""
    if find_missing(configuration):
        return
    keys = dict(_list_absent(configuration))
    for path, texts in list_texts(definition):
        for language, text in texts.items():
            for name in find_used(text):
                if name in keys:
                    message = f"{{{{ {name} }}}} stays empty: set {keys[name]}, or take it out."
                    words = Said("MISSING_VALUE", message, name=name, key=keys[name])
                    yield Fault(path + render_pointer([language]), words, "MISSING_VALUE")


def _list_absent(configuration: Configuration) -> Iterator[tuple[str, str]]:
    """Placeholders without a value, and the merchant file's key that would give it."""
    if configuration.payment.bank_account is None:
        yield from ((name, "payment.bankAccount") for name in ("bank.iban", "bank.holder"))
    if configuration.contact is not None and configuration.contact.phone is None:
        yield "merchant.phone", "contact.phone"
