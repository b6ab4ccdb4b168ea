"""The reasons of matches, and the reasons for which banks return money, by code. Pure."""

from dunwell.cases.statements.formats.coded_text import CodedText, Fact, Texts, load_text
from dunwell.platform.text.translation import LazyText

# Reasons for which a payment or a collection comes back (external code set of ISO 20022).
RETURN_REASONS: Texts = {
    "AC01": LazyText("the account number is wrong"),
    "AC04": LazyText("the account is closed"),
    "AC06": LazyText("the account is blocked"),
    "AC13": LazyText("the account cannot be debited"),
    "AG01": LazyText("the account does not allow this transaction"),
    "AG02": LazyText("the transaction is not allowed"),
    "AM04": LazyText("the account was not covered"),
    "AM05": LazyText("it was collected twice"),
    "ARDT": LazyText("it was returned already"),
    "BE04": LazyText("the payer's address is missing"),
    "BE05": LazyText("the creditor is unknown"),
    "CNOR": LazyText("the creditor's bank is not registered"),
    "CURR": LazyText("the currency is wrong"),
    "DNOR": LazyText("the payer's bank is not registered"),
    "FOCR": LazyText("it was returned after a recall"),
    "MD01": LazyText("there is no valid mandate"),
    "MD02": LazyText("data of the mandate are missing"),
    "MD06": LazyText("the payer asked for the money back"),
    "MD07": LazyText("the payer has died"),
    "MS02": LazyText("the payer refused it"),
    "MS03": LazyText("the bank gives no reason"),
    "RC01": LazyText("the bank is unknown"),
    "RR01": LazyText("the payer's account is missing"),
    "RR02": LazyText("the payer's name or address is missing"),
    "RR03": LazyText("the creditor's name or address is missing"),
    "RR04": LazyText("for regulatory reasons"),
    "SL01": LazyText("a service of the payer's bank refused it"),
    "TM01": LazyText("it came too late"),
}
# Files of returns can contain transactions that succeeded.
SUCCESS_CODES = frozenset({"0000", "000", "00"})
# The basis of a suggestion, and how its amount compares with what is owed.
_SUGGESTIONS: Texts = {
    "SUGGESTION": LazyText("%(basis)s; %(comparison)s."),
    "CHECKED_REFERENCE": LazyText(
        '"%(written)s" names the claim, and its check digits are correct'
    ),
    "REFERENCE": LazyText('The purpose contains "%(reference)s"'),
    "MANDATE": LazyText('"%(number)s" is the number of a direct debit'),
    "DAMAGED_REFERENCE": LazyText('The purpose contains "%(written)s" instead of "%(reference)s"'),
    "SHORT_NUMBER": LazyText('"%(reference)s" is too short for a certain match'),
    "PAYER_ACCOUNT": LazyText("An earlier payment came from the same account"),
    "EXACT": LazyText("it is exactly the amount owed (%(owed)s)"),
    "TOLERATED": LazyText(
        "it differs from the amount owed (%(owed)s) by no more than the tolerance"
    ),
    "PART": LazyText("it is part of the amount owed (%(owed)s)"),
    "SURPLUS": LazyText("it is more than the amount owed (%(owed)s); the rest is a surplus"),
    "NAMED_SET": LazyText(
        "The purpose names these claims, and the payment is exactly their sum: %(references)s."
    ),
    "CUSTOMER_SET": LazyText(
        "The amounts of these claims of the same debtor add up to the payment: %(references)s."
    ),
}
_OTHERS: Texts = {
    "PAYOUT": LazyText("Payout %(payout)s of %(account)s."),
    "RETURNED": LazyText("Returned with %(code)s: %(meaning)s."),
    "DEBIT": LazyText("Direct debit with this end-to-end id."),
    "DEBIT_RETURNED": LazyText("Direct debit returned with %(code)s: %(meaning)s."),
    "BY_HAND": LazyText("Assigned by hand."),
    "UNDONE": LazyText("Undone by hand."),
}
REASON_TEXTS: Texts = dict(_SUGGESTIONS) | dict(_OTHERS) | dict(RETURN_REASONS)


def build_reason(code: str, /, **facts: Fact) -> CodedText:
    """Return the reason of a match. Raises KeyError."""
    return CodedText.build(REASON_TEXTS, code, **facts)


def build_return_reason(code: str, bank_code: str) -> CodedText:
    """Return the reason of a match with a returned payment. `bank_code` is the bank's reason for
    the return."""
    return build_reason(code, code=bank_code, meaning=build_reason(bank_code))


def load_reason(stored: object) -> str:
    """Return a reason that was stored (`dump_text`)."""
    return load_text(REASON_TEXTS, stored)


def is_known_return(reason: str | None) -> bool:
    """Return whether the reason is one for which a payment is reversed."""
    return reason is not None and reason not in SUCCESS_CODES and reason in RETURN_REASONS
