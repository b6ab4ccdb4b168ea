"""The labels of the values of claims, disputes, jobs and users. Templates use each table by its
name, in the language of the page. A label that a page colours is a pair with its colour: good,
warn, bad, info or ""."""

from collections.abc import Mapping

from dunwell.cases.assignment.rule_results import RULE_OUTCOMES
from dunwell.interfaces.portal.render.money_labels import MONEY_LABELS, ColoredLabels, Labels
from dunwell.operations.claim_status.reasons import STEP_REASONS
from dunwell.platform.errors import Fault
from dunwell.platform.text.translation import Language, LazyText

STATUSES: ColoredLabels = {
    "CREATED": (LazyText("New"), "info"),
    "IN_PROCESS": (LazyText("In progress"), "info"),
    "COLLECTED": (LazyText("Paid"), "good"),
    "ARCHIVED": (LazyText("Archived (unpaid)"), ""),
    "WITHDRAWN": (LazyText("Withdrawn"), ""),
}
HOLDS: ColoredLabels = {
    "DISPUTE": (LazyText("Disputed"), "bad"),
    "PAUSE": (LazyText("Paused"), "warn"),
    "MODALITY_REQUESTED": (LazyText("Plan or deferral requested"), "warn"),
    "MODALITY_ACTIVE": (LazyText("Plan or deferral active"), "good"),
    "PAYMENT_PENDING": (LazyText("Payment pending"), "good"),
}
CHANNELS: Labels = {
    "EMAIL": LazyText("E-mail"),
    "SMS": LazyText("SMS"),
    "LETTER": LazyText("Letter"),
}
MESSAGE_STATES: ColoredLabels = {
    "PLANNED": (LazyText("Planned"), ""),
    "ATTACHMENT_MISSING": (LazyText("Waiting for attachment"), "warn"),
    "HANDED_OVER": (LazyText("Sending"), "info"),
    "ACCEPTED": (LazyText("Sent"), "good"),
    "FAILED": (LazyText("Not delivered"), "bad"),
    "CANCELLED": (LazyText("Not sent"), ""),
    "UNKNOWN": (LazyText("Unknown"), "bad"),
}
DISPUTES: ColoredLabels = {
    "OPEN": (LazyText("Open"), "bad"),
    "ACCEPTED": (LazyText("Accepted"), "good"),
    "REJECTED": (LazyText("Rejected"), ""),
    "WITHDRAWN": (LazyText("Withdrawn"), ""),
}
MODALITIES: ColoredLabels = {
    "REQUESTED": (LazyText("Requested"), "warn"),
    "APPROVED": (LazyText("Approved"), "good"),
    "REJECTED": (LazyText("Rejected"), ""),
}
MODALITY_TYPES: Labels = {
    "PAYMENT_PLAN": LazyText("Payment plan"),
    "PAYMENT_DEFEREMENT": LazyText("Deferral"),
}
MODALITY_END_REASONS: Labels = {
    "WITHDRAWN": LazyText("withdrawn by the debtor"),
    "BROKEN": LazyText("instalment missed"),
    "FULFILLED": LazyText("paid in full"),
    "PASSED": LazyText("period over"),
    "REJECTED": LazyText("rejected"),
    "CLAIM_ENDED": LazyText("claim closed"),
}
DISPUTE_REASONS: Labels = {
    "DEBTOR_ALREADY_PAID": LazyText("Already paid"),
    "AMOUNT_WRONG": LazyText("Wrong amount"),
    "GOODS_NOT_RECEIVED": LazyText("Goods not received"),
    "GOODS_RETURNED": LazyText("Goods returned"),
    "DEFECTIVE": LazyText("Defective, or not as agreed"),
    "CONTRACT_CANCELLED": LazyText("Contract cancelled"),
    "WRONG_PERSON": LazyText("Wrong person"),
    "NOT_MY_DEBT": LazyText("Does not owe the amount"),
    "PERSON_DIED": LazyText("Deceased"),
    "IDENTITY_THEFT": LazyText("Identity theft"),
    "ALREADY_IN_PLAN": LazyText("Already in a payment plan"),
    "INSOLVENCY": LazyText("Insolvent"),
    "STATUTE_BARRED": LazyText("Statute-barred"),
    "DOCUMENTS_MISSING": LazyText("Documents missing"),
    "OTHER": LazyText("Other reason"),
}
ITEM_TYPES: Labels = {
    "PRIMARY": LazyText("Item"),
    "DUNNING_FEE": LazyText("Dunning fee"),
    "COLLECTION_FEE": LazyText("Collection fee"),
    "PAYMENT": LazyText("Payment"),
    "REVERSAL": LazyText("Payment reversed"),
    "REDUCTION": LazyText("Waived amount"),
}
ACTOR_KINDS: Labels = {
    "SYSTEM": LazyText("Dunwell"),
    "OPERATOR": LazyText("Operator (command line)"),
    "CREDENTIAL": LazyText("Merchant system"),
    "USER": LazyText("Portal user"),
    "DEBTOR": LazyText("Debtor"),
}
SUPPRESSION_REASONS: Labels = {
    "BOUNCE": LazyText("Bounced"),
    "DEBTOR": LazyText("Requested by debtor"),
    "MERCHANT": LazyText("Requested by merchant"),
    "OPERATOR": LazyText("Added manually"),
    "WRONG_PERSON": LazyText("Wrong person"),
}
LETTER_BATCHES: ColoredLabels = {
    "DECIDED": (LazyText("being prepared"), "info"),
    "WRITTEN": (LazyText("being released"), "info"),
    "RELEASED": (LazyText("released"), "good"),
}
LETTER_STATES: ColoredLabels = {
    "ACCEPTED": (LazyText("accepted by the print service"), "info"),
    "PRINTED": (LazyText("printed"), "info"),
    "POSTED": (LazyText("posted"), "good"),
    "RETURNED": (LazyText("returned"), "bad"),
    "FAILED": (LazyText("not printed"), "bad"),
}
STEP_OUTCOMES: Labels = {
    "DONE": LazyText("done"),
    "SKIPPED": LazyText("skipped"),
    "FAILED": LazyText("failed"),
}
# The messages that are not workflow steps, in the activity of a claim.
NOTICE_KINDS: Labels = {
    "CODE": LazyText("sign-in code"),
    "LINK": LazyText("new link"),
    "RECEIPT": LazyText("receipt"),
    "CONFIRMATION": LazyText("confirmation"),
    "CHANGE_CODE": LazyText("code to confirm an address"),
    "CHANGE_NOTICE": LazyText("notice of a changed address"),
    "ANSWER": LazyText("response to a dispute"),
}
# The audit actions that the activity of a claim shows.
CLAIM_CHANGES: Labels = {
    "claim.change": LazyText("Contact details changed"),
    "claim.assign": LazyText("Workflow assigned"),
    "claim.archive": LazyText("Archived manually"),
    "claim.withdraw": LazyText("Withdrawn"),
    "item.add": LazyText("Item or fee added"),
    "item.delete": LazyText("Item deleted"),
    "attachment.add": LazyText("Document added"),
    "attachment.delete": LazyText("Document deleted"),
    "attachment.replace": LazyText("Document replaced"),
    "contact.settle": LazyText("Delivery status resolved"),
}
# The questions that the form of a dispute asks debtors, and the answers to "way".
DISPUTE_QUESTIONS: Labels = {
    "day": LazyText("Date"),
    "amount": LazyText("Amount"),
    "way": LazyText("Method"),
    "number": LazyText("Number"),
    "person": LazyText("Person"),
    "court": LazyText("Court"),
    "message": LazyText("Message"),
}
DISPUTE_METHODS: Labels = {
    "TRANSFER": LazyText("by bank transfer"),
    "DEBIT": LazyText("by direct debit"),
    "CARD": LazyText("by card"),
    "CASH": LazyText("in cash"),
    "ONLINE": LazyText("online"),
    "EMAIL": LazyText("by e-mail"),
    "LETTER": LazyText("by letter"),
    "PHONE": LazyText("by phone"),
    "OTHER": LazyText("in another way"),
}
JOB_KINDS: Labels = {
    "PAUSE": LazyText("Pause"),
    "RESUME": LazyText("Resume"),
    "ASSIGN": LazyText("Assign workflow"),
    "ARCHIVE": LazyText("Archive"),
    "EXPORT": LazyText("CSV export"),
    "PREVIEW": LazyText("Calculate impact of a draft"),
}
JOB_STATES: ColoredLabels = {
    "WAITING": (LazyText("Queued"), ""),
    "RUNNING": (LazyText("Running"), "info"),
    "DONE": (LazyText("Done"), "good"),
    "CANCELLED": (LazyText("Cancelled"), "warn"),
    "FAILED": (LazyText("Failed"), "bad"),
}
JOB_ROW_OUTCOMES: Labels = {"WAITING": LazyText("not processed"), **STEP_OUTCOMES}
# Why a job skipped a row or failed to process it.
JOB_ROW_REASONS: Labels = {
    "ABSENT": LazyText("claim not found"),
    "ENDED": LazyText("paid, archived or withdrawn"),
    "DISPUTED": LazyText("disputed"),
    "UNCHANGED": LazyText("no change needed"),
    "OTHER_CURRENCY": LazyText("workflow and claim have different currencies"),
    "REFUSED": LazyText("refused"),
    "RIGHT_LOST": LazyText("the user who started this job no longer has permission"),
    "ERROR": LazyText("internal error"),
}
AUDIT_INTERFACES: Labels = {
    "WORKER": LazyText("System"),
    "COMMAND_LINE": LazyText("Command line"),
    "API": LazyText("API"),
    "PORTAL": LazyText("Portal"),
    "LANDING_PAGE": LazyText("Debtor page"),
}
# Why a page of an attached file is not shown.
FILE_PROBLEMS: Labels = {
    "UNSHOWABLE": LazyText("This file cannot be displayed because it is damaged or too complex."),
    "MISSING": LazyText(
        "The content of this file is missing from the file storage. Inform the operator."
    ),
    "CHANGED": LazyText(
        "The content of this file was changed in the file storage and is therefore blocked. "
        "Inform the operator."
    ),
    "NO_PAGE": LazyText("This file does not have this page."),
}
# The texts of faults of fields, by code.
FAULT_TEXTS: Labels = {
    "REQUIRED": LazyText("Please fill this in."),
    "MISSING_FIELD": LazyText("Please fill this in."),
    "EMPTY_CONDITION": LazyText("Please fill this in."),
    "TOO_SHORT": LazyText("Please fill this in."),
    "WRONG_FORMAT": LazyText("The format is not valid."),
    "WRONG_TYPE": LazyText("The format is not valid."),
    "WRONG_EMAIL": LazyText("Enter a valid e-mail address."),
    "WRONG_IBAN": LazyText(
        "Enter a valid IBAN. The country, length or check digits are incorrect."
    ),
    "WRONG_BIC": LazyText("Enter a valid BIC (8 or 11 characters) or leave the field empty."),
    "WRONG_URL": LazyText(
        "Enter an address that starts with https:// and points to a public server."
    ),
    "WRONG_SENDER": LazyText(
        "Enter up to 11 letters, digits and spaces with at least one letter, a phone number such "
        "as +4915112345678, or a short code."
    ),
    "WRONG_LENGTH": LazyText("This is too long or too short."),
    "TOO_LONG": LazyText("This is too long. Shorten it."),
    "WRONG_ORDER": LazyText("The end must be after the start."),
    "EMPTY_HOURS": LazyText("The end must be after the start."),
    "OUT_OF_RANGE": LazyText("The value is outside the permitted range."),
    "TOO_SMALL": LazyText("The value is too small."),
    "TOO_LARGE": LazyText("The value is too large."),
    "TOO_FEW": LazyText("Choose at least one."),
    "TOO_MANY": LazyText("There are too many entries. Remove one."),
    "AMOUNT": LazyText("Enter an amount, e.g. 49.90."),
    "NUMBER": LazyText("Enter a whole number."),
    "REPEATED": LazyText("This value is entered twice. Remove one."),
    "TAKEN": LazyText("This value is already in use. Choose another one."),
    "NOT_ALLOWED": LazyText("This option is not available."),
    "CONTROL_CHARACTER": LazyText("This text contains an invisible control character. Remove it."),
    "IN_FUTURE": LazyText("The date must not be in the future."),
    "UNKNOWN_COUNTRY": LazyText("Enter a two-letter country code, e.g. DE."),
    "UNKNOWN_SUBDIVISION": LazyText("This country has no such state or region."),
    "UNKNOWN_LANGUAGE": LazyText("Enter a two-letter language code, e.g. de."),
    "UNKNOWN_CURRENCY": LazyText("Enter a currency code of three letters, e.g. EUR."),
    "UNKNOWN_TIMEZONE": LazyText("Enter a valid time zone, e.g. Europe/Berlin."),
    "UNKNOWN_TYPE": LazyText("This event type does not exist."),
    "UNKNOWN_WORKFLOW": LazyText("This workflow does not exist. Choose another one."),
    "UNKNOWN_TEMPLATE": LazyText("There is no template with this name yet."),
    "UNKNOWN_LINE": LazyText("This delivery provider no longer exists. Choose another one."),
    "UNKNOWN_ADAPTER": LazyText("This option no longer exists. Choose another one."),
    "UNKNOWN_PROVIDER": LazyText("This payment provider does not exist."),
    "NOT_IN_SANDBOX": LazyText(
        "A sandbox cannot send messages or process payments. Choose the outbox or the sandbox "
        "provider."
    ),
    "SANDBOX_ONLY": LazyText(
        "The sandbox provider processes no payments. Choose another provider for a live merchant."
    ),
    "NEVER_TRUE": LazyText(
        "No claim can meet this condition: the minimum is above the maximum, or the texts "
        "contradict each other."
    ),
    "WRONG_SUM": LazyText("The shares must add up to 100 percent."),
    "DAYS_OR_BUSINESS_DAYS": LazyText("Enter the number of days."),
    "CONTACT_HOURS_MISSING": LazyText(
        "Business days require contact hours. Enter them in the settings."
    ),
    "MISSING_TEXT": LazyText("A template is missing in one of the languages."),
    "MISSING_CHANNEL_TEXT": LazyText("The template does not exist for this channel yet."),
    "EMPTY_TEMPLATE": LazyText("The template is empty on all channels."),
    "ID_REUSED": LazyText(
        "The id of this step belonged to another type of step. Remove the step and add it again."
    ),
}
# The texts of faults in templates for which the check has no text.
TEXT_FAULTS: Labels = {
    "REQUIRED": LazyText("Please fill this in."),
    "TOO_LONG": LazyText("The text is too long. Shorten it to 20,000 characters."),
    "UNKNOWN_FIELD": LazyText(
        "A snippet name may contain letters without accents, digits, - and _. A "
        "template name is one line of at most 255 characters."
    ),
    "CONTROL_CHARACTER": LazyText("This text contains an invisible control character. Remove it."),
}
# The label of a fact of a `LazyText`, by the name of the fact.
_FACT_LABELS: Mapping[str, Labels | ColoredLabels] = {
    "claim_status": STATUSES,
    "dispute_state": DISPUTES,
    "dispute_reason": DISPUTE_REASONS,
    "modality_state": MODALITIES,
    "modality_end": MODALITY_END_REASONS,
    "message_state": MESSAGE_STATES,
    "channel": CHANNELS,
}


def translate_labels(language: Language) -> dict[str, dict[str, object]]:
    """Return every table with its labels in this language, by the name that templates use."""
    tables: Mapping[str, Labels | ColoredLabels] = {
        "STATUSES": STATUSES,
        "HOLDS": HOLDS,
        "CHANNELS": CHANNELS,
        "MESSAGE_STATES": MESSAGE_STATES,
        "DISPUTES": DISPUTES,
        "MODALITIES": MODALITIES,
        "MODALITY_TYPES": MODALITY_TYPES,
        "MODALITY_END_REASONS": MODALITY_END_REASONS,
        "DISPUTE_REASONS": DISPUTE_REASONS,
        "ITEM_TYPES": ITEM_TYPES,
        "ACTOR_KINDS": ACTOR_KINDS,
        **MONEY_LABELS,
        "SUPPRESSION_REASONS": SUPPRESSION_REASONS,
        "LETTER_BATCHES": LETTER_BATCHES,
        "LETTER_STATES": LETTER_STATES,
        "STEP_OUTCOMES": STEP_OUTCOMES,
        "NOTICE_KINDS": NOTICE_KINDS,
        "CLAIM_CHANGES": CLAIM_CHANGES,
        "DISPUTE_QUESTIONS": DISPUTE_QUESTIONS,
        "DISPUTE_METHODS": DISPUTE_METHODS,
        "JOB_KINDS": JOB_KINDS,
        "JOB_STATES": JOB_STATES,
        "JOB_ROW_OUTCOMES": JOB_ROW_OUTCOMES,
        "JOB_ROW_REASONS": JOB_ROW_REASONS,
        "AUDIT_INTERFACES": AUDIT_INTERFACES,
        "FILE_PROBLEMS": FILE_PROBLEMS,
        "RULE_OUTCOMES": {str(outcome): text for outcome, text in RULE_OUTCOMES.items()},
        "STEP_REASONS": STEP_REASONS,
        "FAULTS": FAULT_TEXTS,
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
    """Return the message for a fault in the text of a template."""
    if isinstance(fault.message, LazyText):
        return fault.message
    return TEXT_FAULTS.get(fault.code, fault.message)


def find_fact_label(name: str, value: str) -> LazyText | None:
    """Return the label of a fact, or None if the fact is shown as it is."""
    label = _FACT_LABELS.get(name, {}).get(value)
    return label[0] if isinstance(label, tuple) else label
