"""The addresses of the debtor's pages by name, and the function that builds them.

The address of an opened claim contains a handle (`session.session`), so that one browser can open
several claims. An address without the handle redirects to the claim that was opened last. Pure.
"""

import re
from collections.abc import Mapping

_CLAIM_ROOT = "/claim"
_CLAIM = f"{_CLAIM_ROOT}/{{handle}}"
_PARAMETER = re.compile(r"\{(\w+)\}")
# The path of each page, by the name that routes, redirects and messages use.
PATHS: Mapping[str, str] = {
    "home": "/",
    "code": "/q",
    "new_link": "/q/new-link",
    "new_link_sent": "/q/new-link/sent",
    "link": "/q/{token}",
    "link_send": "/q/{token}/send",
    "link_code": "/q/{token}/code",
    "link_notices": "/q/{token}/notices",
    "unsubscribe": "/u/{reference}",
    "real": "/real",
    "imprint": "/imprint",
    "impressum": "/impressum",
    "claim": _CLAIM,
    "room": f"{_CLAIM}/room",
    "others": f"{_CLAIM}/others",
    "other": f"{_CLAIM}/others/{{other}}",
    "pay": f"{_CLAIM}/pay",
    "pay_method": f"{_CLAIM}/pay/method",
    "transfer": f"{_CLAIM}/pay/transfer",
    "transfer_picture": f"{_CLAIM}/pay/code.png",
    "transfer_sent": f"{_CLAIM}/pay/sent",
    "return": f"{_CLAIM}/return/{{request_id}}",
    "receipt": f"{_CLAIM}/receipt/{{request_id}}",
    "receipt_pdf": f"{_CLAIM}/receipt/{{request_id}}/pdf",
    "receipt_email": f"{_CLAIM}/receipt/{{request_id}}/email",
    "options": f"{_CLAIM}/options",
    "plan": f"{_CLAIM}/plan",
    "plan_check": f"{_CLAIM}/plan/check",
    "later": f"{_CLAIM}/later",
    "later_check": f"{_CLAIM}/later/check",
    "help": f"{_CLAIM}/help",
    "modality": f"{_CLAIM}/modality/{{modality_id}}",
    "modality_pdf": f"{_CLAIM}/modality/{{modality_id}}/pdf",
    "modality_email": f"{_CLAIM}/modality/{{modality_id}}/email",
    "modality_withdraw": f"{_CLAIM}/modality/{{modality_id}}/withdraw",
    "mandate": f"{_CLAIM}/modality/{{modality_id}}/mandate",
    "mandate_pdf": f"{_CLAIM}/modality/{{modality_id}}/mandate/pdf",
    "mandate_revoke": f"{_CLAIM}/modality/{{modality_id}}/mandate/revoke",
    "reasons": f"{_CLAIM}/dispute",
    "questions": f"{_CLAIM}/dispute/{{reason}}",
    "dispute": f"{_CLAIM}/disputes/{{dispute_id}}",
    "dispute_files": f"{_CLAIM}/disputes/{{dispute_id}}/files",
    "dispute_withdraw": f"{_CLAIM}/disputes/{{dispute_id}}/withdraw",
    "prove": f"{_CLAIM}/verify",
    "verify": f"{_CLAIM}/verify/{{place}}",
    "verify_letter": f"{_CLAIM}/verify/{{place}}/letter",
    "verify_send": f"{_CLAIM}/verify/{{place}}/send",
    "verify_code": f"{_CLAIM}/verify/{{place}}/code",
    "extend": f"{_CLAIM}/extend",
    "end": f"{_CLAIM}/end",
    "ended": f"{_CLAIM}/ended",
    "notices": f"{_CLAIM_ROOT}/notices",
    "documents": f"{_CLAIM}/documents",
    "document": f"{_CLAIM}/documents/{{attachment_id}}",
    "preferences": f"{_CLAIM}/preferences",
    "language": f"{_CLAIM}/preferences/language",
    "channels": f"{_CLAIM}/preferences/channels",
    "address": f"{_CLAIM}/preferences/{{what}}",
    "address_code": f"{_CLAIM}/preferences/{{what}}/code",
    "address_send": f"{_CLAIM}/preferences/{{what}}/send",
    "asset": f"{_CLAIM_ROOT}/assets/{{name}}",
    "brand": f"{_CLAIM_ROOT}/brand/{{merchant_id}}/{{revision}}/{{name}}",
}
# The paths, below a claim, of the pages that also exist outside of one.
IN_CLAIM: Mapping[str, str] = {
    "notices": f"{_CLAIM}/notices",
    "real": f"{_CLAIM}/real",
}
_PARAMETERS = {
    path: frozenset(_PARAMETER.findall(path)) for path in (*PATHS.values(), *IN_CLAIM.values())
}
# The addresses without parameters: pages outside of a claim, and addresses that redirect to the
# latest claim.
_FIXED_ADDRESSES = frozenset(
    address
    for path in PATHS.values()
    if "{" not in (address := path.replace(_CLAIM, _CLAIM_ROOT, 1))
)


def normalize_case(path: str) -> str:
    """Normalize a path that was typed from paper: fixed segments become lower-case, and tokens keep
    their capitals."""
    if path.lower() in _FIXED_ADDRESSES:
        return path.lower()
    _, root, *rest = path.split("/")
    return "/".join(["", root.lower(), *rest])


def build_address(page: str, handle: str = "", /, **values: object) -> str:
    """Build the address of a page. `handle` is the opened claim's, or "" for a page outside of a
    claim or a redirect to the latest one. `values` fill the path and then the query, in this order.
    The values are ids and fixed words, so they are not escaped."""
    path = IN_CLAIM.get(page, PATHS[page]) if handle else PATHS[page]
    parameters = _PARAMETERS[path]
    query = [f"{name}={value}" for name, value in values.items() if name not in parameters]
    path = path if handle else strip_handle(path)
    return path.format_map({"handle": handle, **values}) + ("?" + "&".join(query) if query else "")


def strip_handle(path: str) -> str:
    """Remove the handle from one of `PATHS`."""
    return path.replace(_CLAIM, _CLAIM_ROOT, 1)


def insert_handle(path: str, handle: str) -> str:
    """Insert the handle into an address that has none."""
    return path.replace(_CLAIM_ROOT, f"{_CLAIM_ROOT}/{handle}", 1)
