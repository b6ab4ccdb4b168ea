"""The addresses of the debtor's pages by name, and the one function that builds them. Pure."""

import re
from collections.abc import Mapping

LANGUAGE = "lang"
_CLAIM = "/claim"
_PARAMETER = re.compile(r"\{(\w+)\}")
# What pages, routes, redirects and messages call a page -> its path.
PATHS: Mapping[str, str] = {
    "code": "/q",
    "new_link": "/q/new-link",
    "new_link_sent": "/q/new-link/sent",
    "link": "/q/{token}",
    "link_send": "/q/{token}/send",
    "link_code": "/q/{token}/code",
    "real": "/real",
    "claim": _CLAIM,
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
    "notices": f"{_CLAIM}/notices",
    "documents": f"{_CLAIM}/documents",
    "document": f"{_CLAIM}/documents/{{attachment_id}}",
    "preferences": f"{_CLAIM}/preferences",
    "language": f"{_CLAIM}/preferences/language",
    "channels": f"{_CLAIM}/preferences/channels",
    "address": f"{_CLAIM}/preferences/{{what}}",
    "address_code": f"{_CLAIM}/preferences/{{what}}/code",
    "address_send": f"{_CLAIM}/preferences/{{what}}/send",
    "style": f"{_CLAIM}/style/{{name}}",
    "icon": f"{_CLAIM}/icon/{{name}}",
    "script": f"{_CLAIM}/script/{{name}}",
    "brand": f"{_CLAIM}/brand/{{merchant_id}}/{{revision}}/{{name}}",
}
_PARAMETERS = {page: frozenset(_PARAMETER.findall(path)) for page, path in PATHS.items()}


def build_address(page: str, /, **values: object) -> str:
    """values: what stands in the path, and then the query, in this order; they are ids and words of
    ours, which need no escaping."""
    path, parameters = PATHS[page], _PARAMETERS[page]
    query = [f"{name}={value}" for name, value in values.items() if name not in parameters]
    return path.format_map(values) + ("?" + "&".join(query) if query else "")
