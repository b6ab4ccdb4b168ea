"""The states that show each address, so that no address is without one."""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from tests.support.one_claim import ROUTES, hide_handle

# The names of the states, by address.
SHOWN_AT: Mapping[str, str] = {
    "/": "home home-agency home-own",
    "/imprint": "imprint",
    "/impressum": "impressum",
    "/q": "code code-wrong code-locked too-large",
    "/q/new-link": "new-link new-link-empty new-link-often",
    "/q/new-link/sent": "new-link-sent",
    "/q/{token}": (
        "link-dead link-postal-code link-postal-code-wrong link-birth-date "
        "link-birth-date-wrong link-customer-number link-locked link-call link-code"
    ),
    "/q/{token}/code": "link-code-sent link-code-wrong",
    "/q/{token}/notices": "link-notices",
    "/u/{reference}": "unsubscribe unsubscribe-done",
    "/real": "real real-ours real-unconfirmed real-in-session real-message",
    "/claim": (
        "absent timed-out ending-soon claim claim-collected claim-paid-in-part claim-overpaid "
        "claim-held claim-disputed claim-archived claim-withdrawn claim-by-link "
        "claim-plan-requested claim-deferment-requested claim-plan-active "
        "claim-plan-by-link claim-deferred claim-objection-accepted claim-objection-rejected "
        "claim-disputed-in-part claim-all-at-once claim-paid-with-documents "
        "claim-what-follows claim-what-follows-a-pause claim-instalment-missed claim-answer-late "
        "claim-unsent claim-others claim-last-hour claim-plan-broken claim-plan-broken-told "
        "claim-plan-refused claim-deferment-refused claim-request-late "
        "claim-wrong-person claim-person-died claim-ninth"
    ),
    "/claim/others": "others others-none",
    "/claim/pay": "pay-amount",
    "/claim/pay/method": (
        "pay-changed pay-amount-unreadable pay-amount-too-small pay-no-item pay-method "
        "pay-method-part pay-method-items"
    ),
    "/claim/pay/transfer": "transfer",
    "/claim/pay/sent": "transfer-when transfer-no-day transfer-too-often transfer-sent",
    "/claim/options": "options options-none",
    "/claim/plan": "plan",
    "/claim/plan/check": (
        "plan-late plan-errors plan-check plan-check-long plan-check-at-once plan-changed"
    ),
    "/claim/later": "later",
    "/claim/later/check": "later-no-day later-lost-day later-out-of-range later-check",
    "/claim/modality/{modality_id}": (
        "plan-requested plan-requested-late plan-agreed plan-rejected plan-withdrawn plan-broken "
        "later-agreed"
    ),
    "/claim/modality/{modality_id}/mandate": "mandate mandate-errors mandate-given",
    "/claim/modality/{modality_id}/withdraw": "plan-withdraw",
    "/claim/help": "help help-paused help-refused help-by-link",
    "/claim/dispute": "dispute dispute-by-link",
    "/claim/dispute/{reason}": (
        "dispute-wrong-person dispute-person-died "
        "dispute-amount dispute-paid dispute-insolvency dispute-other dispute-kept dispute-faults "
        "dispute-overtaken dispute-stale dispute-late "
        "dispute-fault dispute-empty dispute-refused"
    ),
    "/claim/disputes/{dispute_id}": (
        "dispute-unsent dispute-sent dispute-withdrawn dispute-accepted dispute-accepted-open "
        "dispute-rejected dispute-files-kept"
    ),
    "/claim/disputes/{dispute_id}/files": "dispute-sent-refused dispute-files-late",
    "/claim/disputes/{dispute_id}/withdraw": "dispute-withdraw wrong-person-withdraw",
    "/claim/return/{request_id}": "back-left back-pending back-failed",
    "/claim/receipt/{request_id}": "receipt-part receipt-copied",
    "/claim/verify/{place}": "verify verify-wrong verify-contact",
    "/claim/verify/{place}/letter": "verify-letter-wrong",
    "/claim/verify/{place}/send": "verify-sent-often",
    "/claim/verify/{place}/code": "verify-code-sent verify-code-wrong",
    "/claim/extend": "stale",
    "/claim/ended": "ended",
    "/claim/notices": "notices imprint-in-session",
    "/claim/documents": "documents",
    "/claim/documents/{attachment_id}": "document-lost",
    "/claim/preferences": "preferences preferences-sure preferences-changed",
    "/claim/preferences/channels": "preferences-no-way-left",
    "/claim/preferences/{what}": (
        "preferences-address preferences-address-wrong preferences-address-late "
        "preferences-address-stale"
    ),
    "/claim/preferences/{what}/code": "preferences-code preferences-code-wrong",
    "elsewhere": "not-found not-found-anywhere",
}
# These addresses redirect, send a file, or show the page of another address.
WITHOUT_A_PAGE = {
    "/q/{token}/send",
    "/claim/pay/code.png",
    "/claim/modality/{modality_id}/pdf",
    "/claim/modality/{modality_id}/mandate/pdf",
    "/claim/modality/{modality_id}/mandate/revoke",
    "/claim/modality/{modality_id}/email",
    "/claim/receipt/{request_id}/pdf",
    "/claim/receipt/{request_id}/email",
    "/claim/others/{other}",
    "/claim/verify",
    "/claim/end",
    "/claim/room",
    "/claim/preferences/language",
    "/claim/preferences/{what}/send",
    "/claim/assets/{name}",
    "/claim/brand/{merchant_id}/{revision}/{name}",
}
_PATTERNS = {
    address: re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(address)))
    for address in sorted(ROUTES, key=lambda address: address.count("{"))
}


def find_address(url: str) -> str:
    """Find the address in `ROUTES` that answers. A fixed path comes before one with parameters."""
    path = hide_handle(urlsplit(url).path)
    return next((name for name, each in _PATTERNS.items() if each.fullmatch(path)), "elsewhere")
