"""The labels of the values of payments, refunds, bank statements and direct debits."""

from collections.abc import Mapping

from dunwell.platform.text.translation import LazyText

Labels = Mapping[str, LazyText]
# Each label with its colour: good, warn, bad, info or "".
ColoredLabels = Mapping[str, tuple[LazyText, str]]

PAYMENT_REQUESTS: ColoredLabels = {
    "CREATED": (LazyText("started"), ""),
    "OPEN": (LazyText("at payment provider"), "info"),
    "PENDING": (LazyText("pending"), "warn"),
    "COLLECTING": (LazyText("being collected"), "info"),
    "COMPLETED": (LazyText("received"), "good"),
    "FAILED": (LazyText("failed"), "bad"),
    "CANCELLED": (LazyText("cancelled"), ""),
    "EXPIRED": (LazyText("expired"), ""),
}
PAYMENT_PROVIDERS: Labels = {
    "BANK_TRANSFER": LazyText("Bank transfer"),
    "DIRECT_DEBIT": LazyText("Direct debit"),
    "STRIPE": LazyText("Stripe"),
    "MOLLIE": LazyText("Mollie"),
    "GOCARDLESS": LazyText("GoCardless"),
}
MOVEMENT_KINDS: ColoredLabels = {
    "PAID": (LazyText("Received"), "good"),
    "REFUNDED": (LazyText("Refunded"), "warn"),
    "REFUND_FAILED": (LazyText("Refund failed, money is back"), "bad"),
    "CHARGED_BACK": (LazyText("Charged back"), "bad"),
    "CHARGEBACK_REVERSED": (LazyText("Chargeback reversed, money is back"), "good"),
    "REVERSED": (LazyText("Reversed by us"), "warn"),
}
REVIEW_REASONS: Labels = {
    "OTHER_CURRENCY": LazyText(
        "The money is in another currency than the claim. It was not booked. Refund it at the "
        "provider, or exchange it and record the payment."
    ),
    "OTHER_AMOUNT": LazyText(
        "The same payment was recorded with another amount before, and that one stays booked. "
        "Check at the provider which amount is right."
    ),
    "NOTHING_TO_RETURN": LazyText(
        "More money was returned than is left of the payment. Check the payment at the provider."
    ),
    "REFUND_FAILED": LazyText(
        "The refund did not reach the debtor, and the money is back. Refund it again, or transfer "
        "it to the debtor yourself."
    ),
    "UNKNOWN_ORDER": LazyText(
        "This refund was ordered here, but the order is no longer known, for example because a "
        "backup was restored. The amount is owed again. If you waived it, withdraw the claim or "
        "change its items."
    ),
    "CLAIM_ENDED": LazyText(
        "It changed the balance of a claim that is archived or withdrawn. The claim stays closed. "
        "Decide whether you collect the amount again."
    ),
}
# The review reasons of returns whose text differs from `REVIEW_REASONS`.
RETURN_REVIEWS: Labels = {
    "OTHER_CURRENCY": LazyText(
        "The money is in another currency than the claim. It was not booked. Check at the "
        "provider how much the debtor received, and reverse the payment if it is no longer paid."
    ),
}
# Why staff has to look at a refund that is not made.
REFUND_REVIEWS: Labels = {
    "PROVIDER": LazyText(
        "The provider rejected the refund, so the debtor does not get the money. Remove the cause "
        "and refund it again. Or transfer it to the debtor yourself, reverse the payment, and "
        "record the rest of it as a new payment."
    ),
    "NOTHING_LEFT": LazyText(
        "The money was returned in another way before the refund was sent, for example by a "
        "chargeback. Nothing was refunded. Check whether the debtor is still owed money."
    ),
    "ACCOUNT_CLOSED": LazyText(
        "The provider account is closed and no longer accepts refunds. Check at the provider that "
        "nothing was refunded. Then transfer the money to the debtor yourself, reverse the "
        "payment, and record the rest of it as a new payment."
    ),
    "OVERDUE": LazyText(
        "The refund was ordered more than a week ago, and the provider has not made it. Look for "
        "it at the provider: often the balance of the account is too low. Do not order it again."
    ),
}
REFUND_REFUSALS: Labels = {
    "PROVIDER": LazyText("Message from the provider:"),
    "NOTHING_LEFT": LazyText("The money was already returned in another way."),
    "ACCOUNT_CLOSED": LazyText("The provider account is closed."),
}
REFUND_STATES: ColoredLabels = {
    "CREATED": (LazyText("being sent to the provider"), "info"),
    "ACCEPTED": (LazyText("accepted by the provider"), "info"),
    "BOOKED": (LazyText("refunded"), "good"),
    "REFUSED": (LazyText("rejected by the provider"), "bad"),
    "FAILED": (LazyText("failed, money is back"), "bad"),
    "NOT_BOOKED": (LazyText("made in another currency, not booked"), "bad"),
}
REFUND_EFFECTS: Labels = {
    "SURPLUS": LazyText("Too much was paid"),
    "REDUCE_CLAIM": LazyText("We waive the amount"),
    "REOPEN": LazyText("It is owed again"),
}
MATCH_RULES: Labels = {
    "CHECKED_REFERENCE": LazyText("Reference with correct check digits"),
    "REFERENCE": LazyText("The purpose contains the whole reference"),
    "MANDATE": LazyText("Number of a collection"),
    "DAMAGED_REFERENCE": LazyText("Reference with a typing error"),
    "COVERING_SET": LazyText("The amounts of these claims add up exactly"),
    "SHORT_NUMBER": LazyText("Short number: uncertain match"),
    "PAYER_ACCOUNT": LazyText("Same account as an earlier payment"),
    "PAYOUT": LazyText("Payout of a payment provider"),
    "RETURN": LazyText("Returned payment"),
    "BY_HAND": LazyText("Assigned by hand"),
    "WITHOUT_CLAIM": LazyText("Recorded without a claim"),
}
BANK_TRANSACTION_STATES: ColoredLabels = {
    "NEW": (LazyText("being matched"), "info"),
    "HELD": (LazyText("on hold"), "warn"),
    "OPEN": (LazyText("to assign"), "bad"),
    "MATCHED": (LazyText("assigned"), "good"),
    "PAYOUT": (LazyText("payout"), "good"),
    "RETURNED": (LazyText("returned payment"), "warn"),
    "WITHOUT_CLAIM": (LazyText("without a claim"), ""),
}
BANK_FILE_STATES: ColoredLabels = {
    "WAITING": (LazyText("waiting"), "info"),
    "RUNNING": (LazyText("being imported"), "info"),
    "DONE": (LazyText("imported"), "good"),
    "CANCELLED": (LazyText("cancelled"), ""),
    "REFUSED": (LazyText("cannot be read"), "bad"),
}
MANDATES: ColoredLabels = {
    "ACTIVE": (LazyText("active"), "good"),
    "REVOKED": (LazyText("revoked"), "bad"),
    "EXPIRED": (LazyText("expired"), ""),
}
MANDATE_ENDS: Labels = {
    "REVOKED": LazyText("revoked by the debtor, or by a user for the debtor"),
    "RETURNED": LazyText("the bank returned a debit, and would return every further one"),
    "UNUSED": LazyText("not used for 36 months"),
    "PLAN_ENDED": LazyText("the payment plan has ended"),
    "ACCOUNT_CLOSED": LazyText("the account at the provider is closed"),
}
PROVIDER_MANDATE_ENDS: Labels = {
    **MANDATE_ENDS,
    "RETURNED": LazyText("the bank of the debtor refused the mandate"),
    "UNUSED": LazyText("not used for a long time"),
}
DEBITS: ColoredLabels = {
    "PLANNED": (LazyText("planned"), ""),
    "PRENOTIFIED": (LazyText("to release"), "warn"),
    "RELEASED": (LazyText("released"), "info"),
    "DELIVERED": (LazyText("at the bank"), "info"),
    "COLLECTED": (LazyText("collected"), "good"),
    "RETURNED": (LazyText("returned by the bank"), "bad"),
    "CANCELLED": (LazyText("not collected"), ""),
}
# The states of debits that a provider collects.
PROVIDER_DEBITS: ColoredLabels = {
    "PLANNED": DEBITS["PLANNED"],
    "RELEASED": (LazyText("being ordered"), "info"),
    "DELIVERED": (LazyText("at the provider"), "info"),
    "COLLECTED": DEBITS["COLLECTED"],
    "RETURNED": (LazyText("failed or returned"), "bad"),
    "CANCELLED": DEBITS["CANCELLED"],
}
# Why a debit is not made, or cannot be released.
DEBIT_REASONS: Labels = {
    "MANDATE_ENDED": LazyText("the mandate has ended"),
    "PLAN_ENDED": LazyText("the payment plan has ended"),
    "PAID": LazyText("the instalment is paid"),
    "NOT_NOTIFIED": LazyText("no message has reached the debtor"),
    "NOT_RELEASED": LazyText("not released in time"),
    "DISPUTED": LazyText("the claim is disputed"),
    "HELD_BACK": LazyText("held back by a user, or the bank account was closed"),
    "ACCOUNT_CLOSED": LazyText("your bank account is closed"),
}
# The reason codes of returned debits (ISO 20022), and UNKNOWN.
RETURN_REASONS: Labels = {
    "AC01": LazyText("wrong account number"),
    "AC04": LazyText("account closed"),
    "AC06": LazyText("account blocked"),
    "AC13": LazyText("not a consumer account"),
    "AG01": LazyText("no direct debits from this account"),
    "AG02": LazyText("wrong type of direct debit"),
    "AM04": LazyText("not enough money in the account"),
    "AM05": LazyText("debited twice"),
    "BE05": LazyText("creditor identifier unknown"),
    "MD01": LazyText("no valid mandate"),
    "MD02": LazyText("mandate data missing or wrong"),
    "MD06": LazyText("refunded at the request of the debtor"),
    "MD07": LazyText("account holder deceased"),
    "MS02": LazyText("refused by the debtor"),
    "MS03": LazyText("no reason given by the bank"),
    "RC01": LazyText("wrong BIC"),
    "SL01": LazyText("blocked by the bank of the debtor"),
    "UNKNOWN": LazyText("no reason given"),
}
DEBIT_FILES: ColoredLabels = {
    "PROPOSED": (LazyText("second release needed"), "warn"),
    "RELEASED": (LazyText("released"), "info"),
    "DELIVERED": (LazyText("at the bank"), "good"),
}
SEQUENCE_TYPES: Labels = {
    "FRST": LazyText("first"),
    "RCUR": LazyText("recurring"),
    "FNAL": LazyText("last"),
    "OOFF": LazyText("one-off"),
}
# The tables by the name that templates use.
MONEY_LABELS: Mapping[str, Labels | ColoredLabels] = {
    "PAYMENT_REQUESTS": PAYMENT_REQUESTS,
    "PAYMENT_PROVIDERS": PAYMENT_PROVIDERS,
    "MOVEMENT_KINDS": MOVEMENT_KINDS,
    "REVIEW_REASONS": REVIEW_REASONS,
    "RETURN_REVIEWS": RETURN_REVIEWS,
    "REFUND_REVIEWS": REFUND_REVIEWS,
    "REFUND_REFUSALS": REFUND_REFUSALS,
    "REFUND_STATES": REFUND_STATES,
    "REFUND_EFFECTS": REFUND_EFFECTS,
    "MATCH_RULES": MATCH_RULES,
    "BANK_TRANSACTION_STATES": BANK_TRANSACTION_STATES,
    "BANK_FILE_STATES": BANK_FILE_STATES,
    "MANDATES": MANDATES,
    "MANDATE_ENDS": MANDATE_ENDS,
    "PROVIDER_MANDATE_ENDS": PROVIDER_MANDATE_ENDS,
    "DEBITS": DEBITS,
    "PROVIDER_DEBITS": PROVIDER_DEBITS,
    "DEBIT_REASONS": DEBIT_REASONS,
    "RETURN_REASONS": RETURN_REASONS,
    "DEBIT_FILES": DEBIT_FILES,
    "SEQUENCE_TYPES": SEQUENCE_TYPES,
}
