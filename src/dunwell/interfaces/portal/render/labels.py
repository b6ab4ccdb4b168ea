"""The labels of the values that claims, disputes, payments and users have, as clerks read them.

Templates use each table by its name, with its labels in the language of the page. A label that a
page colours stands beside its colour: good, warn, bad, info or none.
"""

from collections.abc import Mapping

from dunwell.cases.assignment.wording import RULE_OUTCOMES
from dunwell.operations.explanation.reasons import STEP_REASONS
from dunwell.platform.errors import Fault
from dunwell.platform.text.lazy_text import LazyText
from dunwell.platform.text.translation import Language

Labels = Mapping[str, LazyText]
ColoredLabels = Mapping[str, tuple[LazyText, str]]

STATUSES: ColoredLabels = {
    "CREATED": (LazyText("New"), "info"),
    "IN_PROCESS": (LazyText("In process"), "info"),
    "COLLECTED": (LazyText("Paid"), "good"),
    "ARCHIVED": (LazyText("Archived, unpaid"), ""),
    "WITHDRAWN": (LazyText("Withdrawn"), ""),
}
HOLDS: ColoredLabels = {
    "DISPUTE": (LazyText("Disputed"), "bad"),
    "PAUSE": (LazyText("Paused"), "warn"),
    "MODALITY_REQUESTED": (LazyText("Plan asked for"), "warn"),
    "MODALITY_ACTIVE": (LazyText("Plan agreed"), "good"),
    "PAYMENT_PENDING": (LazyText("Payment on its way"), "good"),
}
CHANNELS: Labels = {
    "EMAIL": LazyText("E-mail"),
    "SMS": LazyText("SMS"),
    "LETTER": LazyText("Letter"),
}
MESSAGES: ColoredLabels = {
    "PLANNED": (LazyText("Planned"), ""),
    "ATTACHMENT_MISSING": (LazyText("Waits for an attachment"), "warn"),
    "HANDED_OVER": (LazyText("On its way"), "info"),
    "ACCEPTED": (LazyText("Sent"), "good"),
    "FAILED": (LazyText("Not delivered"), "bad"),
    "CANCELLED": (LazyText("Not sent"), ""),
    "UNKNOWN": (LazyText("Sent or not: unknown"), "bad"),
}
DISPUTES: ColoredLabels = {
    "OPEN": (LazyText("Open"), "bad"),
    "ACCEPTED": (LazyText("Accepted"), "good"),
    "REJECTED": (LazyText("Rejected"), ""),
    "WITHDRAWN": (LazyText("Taken back"), ""),
}
MODALITIES: ColoredLabels = {
    "REQUESTED": (LazyText("Asked for"), "warn"),
    "APPROVED": (LazyText("Agreed"), "good"),
    "REJECTED": (LazyText("Rejected"), ""),
}
MODALITY_TYPES: Labels = {
    "PAYMENT_PLAN": LazyText("Instalments"),
    "PAYMENT_DEFEREMENT": LazyText("Deferment"),
}
ENDS: Labels = {
    "WITHDRAWN": LazyText("taken back by the debtor"),
    "BROKEN": LazyText("an instalment was missed"),
    "FULFILLED": LazyText("paid in full"),
    "PASSED": LazyText("the day is over"),
    "REJECTED": LazyText("rejected"),
    "CLAIM_ENDED": LazyText("the claim has ended"),
}
REASONS: Labels = {
    "DEBTOR_ALREADY_PAID": LazyText("Has paid already"),
    "AMOUNT_WRONG": LazyText("The amount is wrong"),
    "GOODS_NOT_RECEIVED": LazyText("Goods not received"),
    "GOODS_RETURNED": LazyText("Goods returned"),
    "DEFECTIVE": LazyText("Defective, or not as agreed"),
    "CONTRACT_CANCELLED": LazyText("Contract cancelled"),
    "WRONG_PERSON": LazyText("Not the person meant"),
    "NOT_MY_DEBT": LazyText("Does not owe it"),
    "PERSON_DIED": LazyText("The person has died"),
    "IDENTITY_THEFT": LazyText("Identity theft"),
    "ALREADY_IN_PLAN": LazyText("Pays in instalments already"),
    "INSOLVENCY": LazyText("Insolvent"),
    "STATUTE_BARRED": LazyText("Statute-barred"),
    "DOCUMENTS_MISSING": LazyText("Documents are missing"),
    "OTHER": LazyText("Another reason"),
}
ITEMS: Labels = {
    "PRIMARY": LazyText("Item"),
    "DUNNING_FEE": LazyText("Dunning fee"),
    "COLLECTION_FEE": LazyText("Collection fee"),
    "PAYMENT": LazyText("Payment"),
    "REVERSAL": LazyText("Payment taken back"),
}
ACTORS: Labels = {
    "SYSTEM": LazyText("Dunwell"),
    "OPERATOR": LazyText("Operator's command line"),
    "CREDENTIAL": LazyText("Merchant's system"),
    "USER": LazyText("Somebody in the portal"),
    "DEBTOR": LazyText("Debtor"),
}
PAYMENT_REQUESTS: ColoredLabels = {
    "CREATED": (LazyText("begun"), ""),
    "OPEN": (LazyText("at the provider"), "info"),
    "PENDING": (LazyText("money on its way"), "warn"),
    "COMPLETED": (LazyText("received"), "good"),
    "FAILED": (LazyText("failed"), "bad"),
    "CANCELLED": (LazyText("broken off"), ""),
    "EXPIRED": (LazyText("expired"), ""),
}
PAYMENT_PROVIDERS: Labels = {
    "BANK_TRANSFER": LazyText("Bank transfer"),
}
SUPPRESSION_REASONS: Labels = {
    "BOUNCE": LazyText("it came back"),
    "DEBTOR": LazyText("the debtor asked for it"),
    "MERCHANT": LazyText("the merchant asked for it"),
    "OPERATOR": LazyText("by hand"),
    "WRONG_PERSON": LazyText("it reached the wrong person"),
}
LETTER_BATCHES: ColoredLabels = {
    "DECIDED": (LazyText("being made up"), "info"),
    "WRITTEN": (LazyText("being released"), "info"),
    "RELEASED": (LazyText("released"), "good"),
}
LETTER_STATES: ColoredLabels = {
    "ACCEPTED": (LazyText("taken by the print service"), "info"),
    "PRINTED": (LazyText("printed"), "info"),
    "POSTED": (LazyText("posted"), "good"),
    "RETURNED": (LazyText("came back"), "bad"),
    "FAILED": (LazyText("not printed"), "bad"),
}
# What is wrong with a field, by the code of the fault.
FAULT_TEXTS: Labels = {
    "REQUIRED": LazyText("Please fill this in."),
    "WRONG_FORMAT": LazyText("This does not have the form it needs. Please check it."),
    "WRONG_EMAIL": LazyText("This is no e-mail address. Please check it."),
    "TOO_LONG": LazyText("This is too long. Please shorten it."),
    "WRONG_LENGTH": LazyText("This is too long or too short. Please check it."),
    "WRONG_ORDER": LazyText("The end must come after the beginning."),
    "OUT_OF_RANGE": LazyText("This is too much or too little. Please check it."),
    "UNKNOWN_COUNTRY": LazyText("This is no country. Use two letters, such as DE."),
    "UNKNOWN_LANGUAGE": LazyText("This is no language. Use two letters, such as de."),
    "CONTROL_CHARACTER": LazyText("It has a sign that cannot be printed. Please take it out."),
    "NOT_ALLOWED": LazyText("This is not offered here."),
    "IN_FUTURE": LazyText("This day is still to come."),
}
# What is wrong with the text of a message, where the check itself does not say it.
TEXT_FAULTS: Labels = {
    "REQUIRED": LazyText("Please fill this in."),
    "TOO_LONG": LazyText("The text is too long. Shorten it to 20,000 characters."),
    "UNKNOWN_FIELD": LazyText(
        "A snippet's name has letters without accents, digits, - and _; a template's is a line of "
        "up to 255 characters."
    ),
    "CONTROL_CHARACTER": LazyText("It has a sign that cannot be printed. Please take it out."),
}
# The label of a fact of a `LazyText`, by the name of the fact.
_FACT_LABELS: Mapping[str, Labels | ColoredLabels] = {
    "claim_status": STATUSES,
    "dispute_state": DISPUTES,
    "dispute_reason": REASONS,
    "modality_state": MODALITIES,
    "modality_end": ENDS,
    "message_state": MESSAGES,
    "channel": CHANNELS,
}


def translate_labels(language: Language) -> dict[str, dict[str, object]]:
    """Return every table with its labels in this language, by the name that templates use."""
    tables: Mapping[str, Labels | ColoredLabels] = {
        "STATUSES": STATUSES,
        "HOLDS": HOLDS,
        "CHANNELS": CHANNELS,
        "MESSAGES": MESSAGES,
        "DISPUTES": DISPUTES,
        "MODALITIES": MODALITIES,
        "MODALITY_TYPES": MODALITY_TYPES,
        "ENDS": ENDS,
        "REASONS": REASONS,
        "ITEMS": ITEMS,
        "ACTORS": ACTORS,
        "PAYMENT_REQUESTS": PAYMENT_REQUESTS,
        "PAYMENT_PROVIDERS": PAYMENT_PROVIDERS,
        "SUPPRESSION_REASONS": SUPPRESSION_REASONS,
        "LETTER_BATCHES": LETTER_BATCHES,
        "LETTER_STATES": LETTER_STATES,
        "RULE_OUTCOMES": {str(outcome): text for outcome, text in RULE_OUTCOMES.items()},
        "STEP_REASONS": STEP_REASONS,
    }
    return {
        name: {value: _translate(label, language) for value, label in table.items()}
        for name, table in tables.items()
    }


def _translate(label: LazyText | tuple[LazyText, str], language: Language) -> object:
    if isinstance(label, tuple):
        text, color = label
        return language.translate(text.text), color
    return language.translate(label.text)


def describe_text_fault(fault: Fault) -> str:
    """Return what is wrong with the text of a message."""
    if isinstance(fault.message, LazyText):
        return fault.message
    return TEXT_FAULTS.get(fault.code, fault.message)


def find_fact_label(name: str, value: str) -> LazyText | None:
    """Return the label of a fact, or None if the fact is shown as it is."""
    label = _FACT_LABELS.get(name, {}).get(value)
    return label[0] if isinstance(label, tuple) else label
