"""The URLs of the portal's pages by name, and the function that builds them. What belongs to a
merchant is below /portal/m/<merchantId>, so that a shared URL always names its merchant. Pure.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, urlencode

ROOT = "/portal"
_MERCHANT = f"{ROOT}/m/{{merchant_id}}"
_CLAIM = f"{_MERCHANT}/claims/{{claim_id}}"
_DISPUTE = f"{_CLAIM}/disputes/{{dispute_id}}"
_ENDPOINT = f"{_MERCHANT}/webhooks/{{endpoint_id}}"
_WORKFLOW = f"{_MERCHANT}/workflows/{{workflow_id}}"
_BANK_ACCOUNT = f"{_MERCHANT}/bank/accounts/{{account}}"
_SETTINGS = f"{_MERCHANT}/settings"
_PARAMETER = re.compile(r"\{(\w+)\}")
# The path of each page, by the name that routes, redirects and templates use.
PATHS: Mapping[str, str] = {
    "portal": ROOT,
    "merchants": f"{ROOT}/merchants",
    "merchant_new": f"{ROOT}/merchants/new",
    "keys": f"{ROOT}/keys",
    "asset": f"{ROOT}/asset/{{name}}",
    "sign_in": f"{ROOT}/sign-in",
    "second": f"{ROOT}/sign-in/code",
    "recovery": f"{ROOT}/sign-in/recovery-code",
    "passkey": f"{ROOT}/sign-in/passkey",
    "passkey_ask": f"{ROOT}/sign-in/passkey/ask",
    "sso_start": f"{ROOT}/sign-in/with/{{provider}}",
    "sso_back": f"{ROOT}/sign-in/with/{{provider}}/back",
    "sso_logout": f"{ROOT}/sign-in/with/{{provider}}/logout",
    "sso_leave": f"{ROOT}/sign-in/with/{{provider}}/leave",
    "sign_out": f"{ROOT}/sign-out",
    "invitation": f"{ROOT}/invitation/{{link}}",
    "invitation_passkey": f"{ROOT}/invitation/{{link}}/passkey",
    "invitation_ask": f"{ROOT}/invitation/{{link}}/passkey/ask",
    "account": f"{ROOT}/account",
    "account_sessions": f"{ROOT}/account/sessions",
    "account_password": f"{ROOT}/account/password",
    "account_app": f"{ROOT}/account/app",
    "account_passkey": f"{ROOT}/account/passkey",
    "account_passkey_ask": f"{ROOT}/account/passkey/ask",
    "account_factor": f"{ROOT}/account/factor",
    "account_confirm": f"{ROOT}/account/confirm",
    "account_confirm_ask": f"{ROOT}/account/confirm/passkey/ask",
    "account_codes": f"{ROOT}/account/recovery-codes",
    "account_codes_away": f"{ROOT}/account/recovery-codes/kept",
    "delivery_providers": f"{ROOT}/delivery-providers",
    "unmatched_messages": f"{ROOT}/delivery-providers/unmatched",
    "letter_batches": f"{ROOT}/delivery-providers/batches",
    "letter_batch": f"{ROOT}/delivery-providers/batches/{{batch_id}}",
    "doubtful_letters": f"{ROOT}/delivery-providers/{{provider}}/doubtful-letters",
    "people": f"{ROOT}/people",
    "people_invite": f"{ROOT}/people/invite",
    "people_audit": f"{ROOT}/people/audit",
    "people_user": f"{ROOT}/people/{{user_id}}",
    "people_end": f"{ROOT}/people/{{user_id}}/end",
    "people_sessions": f"{ROOT}/people/{{user_id}}/sessions",
    "people_reset": f"{ROOT}/people/{{user_id}}/reset",
    "start": _MERCHANT,
    "claims": f"{_MERCHANT}/claims",
    "views": f"{_MERCHANT}/views",
    "view_end": f"{_MERCHANT}/views/{{view_id}}/end",
    "claim": _CLAIM,
    "claim_why": f"{_CLAIM}/why",
    "claim_account": f"{_CLAIM}/account",
    "claim_debtor": f"{_CLAIM}/debtor",
    "claim_message": f"{_CLAIM}/messages/{{message_id}}",
    "claim_document": f"{_CLAIM}/documents/{{attachment_id}}",
    "document_pages": f"{_CLAIM}/documents/{{attachment_id}}/pages",
    "document_page": f"{_CLAIM}/documents/{{attachment_id}}/pages/{{page}}/{{size}}",
    "disputes": f"{_MERCHANT}/disputes",
    "dispute": _DISPUTE,
    "dispute_preview": f"{_DISPUTE}/preview",
    "dispute_assign": f"{_DISPUTE}/assignee",
    "dispute_right_person": f"{_DISPUTE}/right-person",
    "dispute_file": f"{_DISPUTE}/files/{{file_id}}",
    "dispute_file_pages": f"{_DISPUTE}/files/{{file_id}}/pages",
    "dispute_file_page": f"{_DISPUTE}/files/{{file_id}}/pages/{{page}}/{{size}}",
    "answer_texts": f"{_MERCHANT}/answer-texts",
    "answer_text_end": f"{_MERCHANT}/answer-texts/{{template_id}}/end",
    "audit": f"{_MERCHANT}/audit",
    "audit_export": f"{_MERCHANT}/audit/export",
    "bulk": f"{_MERCHANT}/bulk",
    "export": f"{_MERCHANT}/export",
    "jobs": f"{_MERCHANT}/jobs",
    "job": f"{_MERCHANT}/jobs/{{job_id}}",
    "job_rows": f"{_MERCHANT}/jobs/{{job_id}}/rows.csv",
    "job_file": f"{_MERCHANT}/jobs/{{job_id}}/file.csv",
    "endpoints": f"{_MERCHANT}/webhooks",
    "endpoint": _ENDPOINT,
    "endpoint_test": f"{_ENDPOINT}/test",
    "endpoint_secret": f"{_ENDPOINT}/secret",
    "endpoint_on": f"{_ENDPOINT}/on",
    "endpoint_replay": f"{_ENDPOINT}/replay",
    "delivery": f"{_ENDPOINT}/deliveries/{{event_id}}",
    "settings": _SETTINGS,
    "settings_file": f"{_SETTINGS}/file",
    "settings_yaml": f"{_SETTINGS}/merchant.yaml",
    "settings_changes": f"{_SETTINGS}/changes",
    "settings_logo": f"{_SETTINGS}/logo.png",
    "settings_webhooks": f"{_SETTINGS}/webhooks",
    "settings_section": f"{_SETTINGS}/{{section}}",
    "credentials": f"{_MERCHANT}/credentials",
    "credential": f"{_MERCHANT}/credentials/{{client_id}}",
    "clock": f"{_MERCHANT}/clock",
    "plans": f"{_MERCHANT}/plans",
    "plan": f"{_CLAIM}/plans/{{plan_id}}",
    "plan_assign": f"{_CLAIM}/plans/{{plan_id}}/assignee",
    "payments": f"{_MERCHANT}/payments",
    "payment_find": f"{_MERCHANT}/payments/record",
    "payments_review": f"{_MERCHANT}/payments/review",
    "payment_request": f"{_MERCHANT}/payments/requests/{{request_id}}",
    "payment": f"{_MERCHANT}/payments/{{payment_id}}",
    "bank": f"{_MERCHANT}/bank",
    "payouts": f"{_MERCHANT}/bank/payouts",
    "payout": f"{_MERCHANT}/bank/payouts/{{record_id}}",
    "bank_file": f"{_MERCHANT}/bank/files/{{file_id}}",
    "bank_account": _BANK_ACCOUNT,
    "bank_new": f"{_MERCHANT}/bank/new",
    "bank_setup": f"{_BANK_ACCOUNT}/settings",
    "bank_csv": f"{_BANK_ACCOUNT}/csv",
    "bank_close": f"{_BANK_ACCOUNT}/close",
    "bank_entries": f"{_BANK_ACCOUNT}/entries",
    "bank_statement": f"{_BANK_ACCOUNT}/statements/{{statement}}",
    "payment_refund": f"{_MERCHANT}/payments/{{payment_id}}/refund",
    "debits": f"{_MERCHANT}/debits",
    "debit_release": f"{_MERCHANT}/debits/release",
    "debits_export": f"{_MERCHANT}/debits/export",
    "debit_files": f"{_MERCHANT}/debits/files",
    "debit_file": f"{_MERCHANT}/debits/files/{{file_id}}",
    "debit_file_download": f"{_MERCHANT}/debits/files/{{file_id}}/order.xml",
    "debit": f"{_MERCHANT}/debits/{{collection_id}}",
    "mandates": f"{_MERCHANT}/mandates",
    "mandates_export": f"{_MERCHANT}/mandates/export",
    "mandate": f"{_CLAIM}/mandates/{{mandate_id}}",
    "messages": f"{_MERCHANT}/messages",
    "settle": f"{_MERCHANT}/messages/{{message_id}}/settle",
    "replies": f"{_MERCHANT}/replies",
    "rules": f"{_MERCHANT}/rules",
    "rules_default": f"{_MERCHANT}/rules/default",
    "rule": f"{_MERCHANT}/rules/rule",
    "rules_try": f"{_MERCHANT}/rules/try",
    "rules_effect": f"{_MERCHANT}/rules/effect",
    "rules_publish": f"{_MERCHANT}/rules/publish",
    "rules_discard": f"{_MERCHANT}/rules/discard",
    "rules_versions": f"{_MERCHANT}/rules/versions",
    "rules_version": f"{_MERCHANT}/rules/versions/{{version}}",
    "rules_file": f"{_MERCHANT}/rules/file",
    "rules_download": f"{_MERCHANT}/rules/file/rules.yaml",
    "suppressions": f"{_MERCHANT}/suppressions",
    "suppression": f"{_MERCHANT}/suppressions/{{channel}}/{{digest}}",
    "texts": f"{_WORKFLOW}/texts",
    "text": f"{_WORKFLOW}/texts/edit",
    "text_preview": f"{_WORKFLOW}/texts/preview",
    "text_mail": f"{_WORKFLOW}/texts/preview/mail",
    "text_sheet": f"{_WORKFLOW}/texts/preview/pages/{{page}}",
    "simulate": f"{_WORKFLOW}/simulate",
    "workflows": f"{_MERCHANT}/workflows",
    "switch": f"{_MERCHANT}/switch",
    "workflow": _WORKFLOW,
    "workflow_manage": f"{_WORKFLOW}/manage",
    "workflow_settings": f"{_WORKFLOW}/settings",
    "workflow_step_new": f"{_WORKFLOW}/steps/new",
    "workflow_step": f"{_WORKFLOW}/steps/{{step_id}}",
    "workflow_publish": f"{_WORKFLOW}/publish",
    "workflow_preview": f"{_WORKFLOW}/preview",
    "workflow_discard": f"{_WORKFLOW}/discard",
    "workflow_history": f"{_WORKFLOW}/versions",
    "workflow_compare": f"{_WORKFLOW}/compare",
    "workflow_file": f"{_WORKFLOW}/file",
    "workflow_version": f"{_WORKFLOW}/versions/{{version}}",
    "workflow_download": f"{_WORKFLOW}/versions/{{version}}/{{form}}",
    # The form of each action on a claim (`CLAIM_ACTIONS`).
    "claim_act": f"{_CLAIM}/{{act}}",
}
_PARAMETERS = {path: frozenset(_PARAMETER.findall(path)) for path in PATHS.values()}


def build_address(page: str, /, **values: object) -> str:
    """Build the URL of a page. `values` are those in the path, followed by those of the query in
    their order. None and "" are omitted from the query; a list repeats its parameter for each
    item."""
    path = PATHS[page]
    parameters = _PARAMETERS[path]
    filled = {name: quote(str(values[name]), safe="") for name in parameters}
    query = urlencode(list(_list_query(values, parameters)))
    return path.format_map(filled) + (f"?{query}" if query else "")


def names_merchant(page: str) -> bool:
    return "merchant_id" in _PARAMETERS[PATHS[page]]


def is_portal_address(address: str) -> bool:
    """Return whether the address belongs to a page of this portal, to which a user may be
    redirected after signing in."""
    is_below = address == ROOT or address.startswith((f"{ROOT}/", f"{ROOT}?"))
    is_plain = address.isascii() and address.isprintable()
    return is_below and is_plain and not {" ", "\\"} & set(address)


def _list_query(
    values: Mapping[str, object], parameters: frozenset[str]
) -> Iterator[tuple[str, object]]:
    for name, value in values.items():
        if name in parameters or value is None or value == "":
            continue
        if isinstance(value, Iterable) and not isinstance(value, str):
            yield from ((name, each) for each in value)
        else:
            yield name, value
