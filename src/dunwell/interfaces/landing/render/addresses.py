"""The addresses of the debtor's pages by name, and the one function that builds them.

An opened claim lives below a handle of its own (`session.session`), so that several live side by
side in one browser. Without it, a page's address leads on to the claim that was opened last. Pure.
"""

import re
from collections.abc import Mapping

_CLAIMS = "/claim"
_CLAIM = f"{_CLAIMS}/{{handle}}"
_PARAMETER = re.compile(r"\{(\w+)\}")
# What pages, routes, redirects and messages call a page -> its path.
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
    "notices": f"{_CLAIMS}/notices",
    "documents": f"{_CLAIM}/documents",
    "document": f"{_CLAIM}/documents/{{attachment_id}}",
    "preferences": f"{_CLAIM}/preferences",
    "language": f"{_CLAIM}/preferences/language",
    "channels": f"{_CLAIM}/preferences/channels",
    "address": f"{_CLAIM}/preferences/{{what}}",
    "address_code": f"{_CLAIM}/preferences/{{what}}/code",
    "address_send": f"{_CLAIM}/preferences/{{what}}/send",
    "asset": f"{_CLAIMS}/assets/{{name}}",
    "brand": f"{_CLAIMS}/brand/{{merchant_id}}/{{revision}}/{{name}}",
}
# Where pages that stand outside of a claim too stand in one.
IN_CLAIM: Mapping[str, str] = {
    "notices": f"{_CLAIM}/notices",
    "real": f"{_CLAIM}/real",
}
_PARAMETERS = {
    path: frozenset(_PARAMETER.findall(path)) for path in (*PATHS.values(), *IN_CLAIM.values())
}
# Addresses as they stand, of pages outside of a claim and of those that lead on to the last one.
_PLAIN = frozenset(
    plain for path in PATHS.values() if "{" not in (plain := path.replace(_CLAIM, _CLAIMS, 1))
)


def normalize_case(path: str) -> str:
    """A path as somebody typed it from paper, as it stands here: only what is not ours in it, such
    as a link's token, keeps its capitals."""
    if path.lower() in _PLAIN:
        return path.lower()
    _, root, *rest = path.split("/")
    return "/".join(["", root.lower(), *rest])


def build_address(page: str, handle: str = "", /, **values: object) -> str:
    """handle: the opened claim's; "": the page stands outside of any, or leads on to the last one.
    values: what stands in the path, and then the query, in this order; they are ids and words of
    ours, which need no escaping."""
    path = IN_CLAIM.get(page, PATHS[page]) if handle else PATHS[page]
    parameters = _PARAMETERS[path]
    query = [f"{name}={value}" for name, value in values.items() if name not in parameters]
    path = path if handle else strip_handle(path)
    return path.format_map({"handle": handle, **values}) + ("?" + "&".join(query) if query else "")


def strip_handle(path: str) -> str:
    """One of `PATHS` without the claim's handle."""
    return path.replace(_CLAIM, _CLAIMS, 1)


def insert_handle(path: str, handle: str) -> str:
    """The address below this handle of one that has none (`strip_handle`)."""
    return path.replace(_CLAIMS, f"{_CLAIMS}/{handle}", 1)
