"""Permissions of every page of a merchant, route by role, with existing objects. Without the
permission a page is missing. A refused request changes no row."""

from collections.abc import Mapping
from datetime import date
from typing import Any

import httpx
import msgspec
import pytest

from dunwell.accounts.merchants.actor import build_debtor_actor
from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.cases.payments.choice import PaymentChoice, PaymentChoiceKind
from dunwell.cases.payments.requests.announce_transfer import AnnouncedTransfer, announce_transfer
from dunwell.contact.messages.suppression import suppress
from dunwell.core.files.storage import SealedFiles
from dunwell.core.workflows.drafts.edit_draft import PartEdit, edit_draft
from dunwell.core.workflows.store import load_workflows
from dunwell.interfaces.portal.application import ROUTES
from dunwell.interfaces.portal.render.addresses import PATHS, names_merchant
from dunwell.operations.jobs.run_exports import run_exports
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from dunwell.platform.text.differences import compute_revision
from tests.support.api import a_credential
from tests.support.application import an_application
from tests.support.debit_plans import DEBIT, Debits
from tests.support.documents import attach
from tests.support.harness import Harness, a_harness
from tests.support.isolation import digest_rows
from tests.support.logged_endpoint import a_logged_endpoint
from tests.support.modalities import Arrangement
from tests.support.payouts import pay_out
from tests.support.portal import OWN_FORM, Clerk, read_fields, sign_in
from tests.support.portal_data import PortalData, create_portal_data
from tests.support.portal_rules import add_rules
from tests.support.statements import StatementHarness, build_credit, build_file
from tests.support.texts import a_harness_with_prices, a_texts_harness
from tests.support.transfers import nordwind_with_account

_ALL = frozenset(Role)
_OPERATORS = frozenset({Role.ADMIN, Role.OPERATOR})
_STAFF = _OPERATORS | {Role.MERCHANT_USER}
_AUDITORS = _OPERATORS | {Role.AUDITOR}
_NONE = frozenset[Role]()
# The roles that may open the pages, the roles that may send their forms, and the pages.
_GROUPS = (
    (
        _ALL, _NONE,
        ("start claims claim claim_why claim_account claim_debtor claim_document claim_message"
         " disputes document_page document_pages"
        " bank payouts payout dispute_file dispute_file_pages dispute_file_page jobs job_rows"
         " job_file plans payments debits debit_files mandates"
        " messages replies workflow_history workflow_compare workflow_download"),
    ),
    (_ALL, _ALL, "views view_end export debits_export mandates_export job"),
    (
        _ALL, _STAFF,
        ("dispute dispute_preview dispute_assign dispute_right_person plan plan_assign payment"
        " payment_request answer_text_end bulk bank_account bank_entries bank_file bank_statement"
         " payments_review debit_release debit_file debit_file_download debit mandate"),
    ),
    (_STAFF, _STAFF, "answer_texts claim_act payment_refund"),
    (_STAFF, _NONE, "payment_find"),
    (_AUDITORS, _NONE, "audit"),
    (_ALL, _AUDITORS, "audit_export"),
    (_ALL, _OPERATORS, "suppressions workflows workflow workflow_version"),
    (
        _OPERATORS, _NONE,
        ("endpoints endpoint settings settings_file settings_yaml rules_effect rules_versions"
        " rules_download texts text_mail text_sheet simulate"),
    ),
    (
        _OPERATORS, _OPERATORS,
        ("bank_new bank_setup bank_csv bank_close"
        " endpoint_test endpoint_secret endpoint_on endpoint_replay delivery settings_changes"
        " settings_webhooks settings_section credentials credential settle rules rules_default rule"
        " rules_try rules_publish rules_discard rules_version rules_file suppression text"
        " text_preview switch workflow_manage workflow_settings workflow_step_new workflow_step"
        " workflow_publish workflow_preview workflow_discard workflow_file"),
    ),
)  # fmt: skip
_ROLES = {
    (page, method): roles
    for get, post, pages in _GROUPS
    for page in pages.split()
    for method, roles in (("GET", get), ("POST", post))
    if method in ROUTES[PATHS[page]]
}
# Pages that need a logo or a sandbox. test_setup_access tests them.
_ELSEWHERE = {"settings_logo", "clock"}
# Pages whose object may be gone after the form of another page was sent.
_MAY_BE_GONE = {"view_end", "answer_text_end", "workflow_discard", "workflow_publish"}
# Pages that redirect to a list of the user's merchant if they do not find the object.
_REDIRECTED = {"view_end", "job", "answer_text_end", "credential", "settle", "suppression"}
# Pages of one object whose path has no `{..._id}` for it.
_OTHER_OBJECTS = {
    "suppression", "bank_account", "bank_entries", "bank_statement", "bank_setup", "bank_csv",
    "bank_close",
}  # fmt: skip
_TEXT_PAGES = {"texts", "text", "text_preview", "text_mail", "text_sheet", "simulate"}
_FORM = {
    "do": "check", "reason": "OTHER", "since": "2026-01-01", "outcome": "reject", "name": "Wait",
    "days": "7", "kind": "WAIT", "step": "2", "text": "steps: 3", "body": "Neu", "subject": "Neu",
    "revision": "2026-03-02T09:00:00+00:00", "known_seen": "2026-03-02T09:00:00+00:00",
    "known_secret": "x",
}  # fmt: skip
_FOREIGN = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    configuration = nordwind_with_account()
    payment = msgspec.structs.replace(configuration.payment, direct_debit=DEBIT)
    return await a_harness_with_prices(
        resources, clock, configuration=msgspec.structs.replace(configuration, payment=payment)
    )


@pytest.fixture
async def things(harness: Harness) -> Mapping[str, str]:
    """The ids of existing objects, for addresses and forms."""
    data = await create_portal_data(harness)
    logged = await a_logged_endpoint(harness, data.claim_id)
    await add_rules(harness)
    paid = await harness.pay(data.claim_ids[6], 240)
    async with harness.work(build_debtor_actor("session-1")) as work:
        sent = AnnouncedTransfer(PaymentChoice(PaymentChoiceKind.WHOLE, 10240), date(2026, 3, 2))
        request_id = await announce_transfer(work, data.claim_ids[7], sent)
    async with harness.work() as work:
        await suppress(work, harness.resources.keys, "EMAIL", "erika@example.org", "DEBTOR")
    [digest] = await harness.rows("SELECT address_digest FROM suppressions WHERE merchant_id = $1")
    [message] = await harness.rows(
        "SELECT communication_id FROM communications WHERE merchant_id = $1 AND claim_id = $2",
        data.claim_id,
    )
    credential = await a_credential(harness, "shop")
    return {
        "merchant_id": str(harness.merchant.merchant_id), "claim_id": str(data.claim_id),
        "plan_claim_id": str(data.plan_claim_id), "plan_id": str(data.plan_id),
        "message_id": str(message["communication_id"]), "file_id": str(data.file_id),
        "attachment_id": str(await attach(harness, data.claim_id)),
        "dispute_id": str(data.disputed.dispute_id), "page": "1", "size": "small",
        "endpoint_id": str(logged.new.endpoint_id), "event_id": str(logged.ids[1]),
        "payment_id": str(paid.payment.payment_id), "request_id": str(request_id),
        "channel": "EMAIL", "digest": digest["address_digest"].hex(), "section": "creditor",
        "act": "payment", "client_id": credential.client_id, "step_id": "2", "form": "yaml",
        **await _edit_workflow(harness), **await _submit_forms(harness),
        **await _move_money(harness, data.claim_id),
        **await _propose_debit(harness, data),
    }  # fmt: skip


async def _move_money(harness: Harness, claim_id: int) -> Mapping[str, str]:
    """Add a movement that needs review, and a bank statement with an open entry."""
    bank = StatementHarness(harness)
    await bank.save()
    file = await bank.load(build_file(build_credit("1.00", "Many thanks")))
    [movement] = await harness.rows(
        "INSERT INTO payment_movements (merchant_id, record_id, provider, movement_id, kind,"
        " claim_id, amount_cents, currency, booked_cents, moved_at, recorded_at, review_reason)"
        " VALUES ($1, gen_random_uuid(), 'sandbox', 'm-1', 'PAID', $2, 100, 'CHF', 0, $3, $3,"
        " 'OTHER_CURRENCY') RETURNING record_id",
        claim_id, harness.clock.now(),
    )  # fmt: skip
    [statement] = await harness.rows(
        "SELECT statement_hash, entry_id FROM bank_statements"
        " JOIN bank_entries USING (merchant_id, account, statement_hash) WHERE merchant_id = $1"
    )
    return {
        "record_id": str(await pay_out(harness, 1_00, 0)),
        "movement": str(movement["record_id"]), "account": "main",
        "entry_id": str(statement["entry_id"]), "number": "1", "share": f"{claim_id}:100",
        "bank_file_id": str(file.file_id), "statement": statement["statement_hash"].hex(),
    }  # fmt: skip


async def _propose_debit(harness: Harness, data: PortalData) -> Mapping[str, str]:
    """Give a mandate for the plan, and propose its first debit for release."""
    debits = Debits(Arrangement(harness, data.plan_claim_id), data.plan_id)
    mandate = await debits.sign()
    [file] = await harness.rows(
        "INSERT INTO debit_files (merchant_id, file_id, message_id, state, debits, amount_cents,"
        " created_at, created_by) VALUES ($1, gen_random_uuid(), 'DD1', 'PROPOSED', 1, 3414, $2,"
        " 'USER:' || gen_random_uuid()) RETURNING file_id",
        harness.clock.now(),
    )
    [collection] = await harness.rows(
        "INSERT INTO debit_collections (merchant_id, collection_id, mandate_id, claim_id,"
        " modality_id, instalment, due_on, collected_on, amount_cents, currency, state,"
        " end_to_end_id, file_id, notified_at, changed_at) VALUES ($1, gen_random_uuid(), $2, $3,"
        " $4, 1, $5, $5, 3414, 'EUR', 'PRENOTIFIED', 'E1', $6, $7, $7) RETURNING collection_id",
        mandate.mandate_id, data.plan_claim_id, data.plan_id, date(2026, 3, 16), file["file_id"],
        harness.clock.now(),
    )  # fmt: skip
    return {
        "mandate_id": str(mandate.mandate_id), "collection_id": str(collection["collection_id"]),
        "debit_file_id": str(file["file_id"]), "debit": str(collection["collection_id"]),
    }  # fmt: skip


async def _edit_workflow(harness: Harness) -> Mapping[str, str]:
    """Add a draft to the published workflow, and a workflow with texts in each channel."""
    async with harness.work() as work:
        workflow_id = (await load_workflows(work.tx, work.merchant_id))[0].workflow_id
        added = PartEdit("snippets/x", compute_revision(None), {"de": "Neu", "en": "New"})
        draft_id = str((await edit_draft(work, workflow_id, added)).version_id)
    texts = (await a_texts_harness(harness)).rpartition("/")[2]
    return {
        "workflow_id": str(workflow_id), "texts_id": texts,
        "known_draft": draft_id, "known_newest": draft_id,
    }  # fmt: skip


async def _submit_forms(harness: Harness) -> Mapping[str, str]:
    """Create a shared view, a response template and a job as an administrator."""
    admin, token = await _sign_in_with_token(harness, Role.ADMIN)
    await admin.post("/views", {"token": token, "name": "Ours", "shared": "yes"})
    await admin.post("/answer-texts", {"token": token, "name": "Returned", "text": "No parcel."})
    await admin.post("/export", {"token": token, "list": "claims"})
    await run_exports(harness.resources, SealedFiles.open(harness.resources))
    ids = {"view_id": "saved_views", "template_id": "response_templates", "job_id": "jobs"}
    found = dict[str, str]()
    for name, table in ids.items():
        [row] = await harness.rows(f"SELECT {name} AS id FROM {table} WHERE merchant_id = $1")
        found[name] = str(row["id"])
    return found


async def _sign_in_with_token(harness: Harness, role: Role) -> tuple[Clerk, str]:
    """Sign in, and return the token of the forms too."""
    at_one = role in (Role.AUDITOR, Role.MERCHANT_USER)
    roles = (
        UserRoles(memberships={harness.merchant.merchant_id: role}) if at_one else UserRoles(role)
    )
    clerk = await sign_in(harness.resources, an_application(harness.resources).app, harness, roles)
    account = await clerk.get("/portal/account")
    return clerk, read_fields(account.text.replace("sign-out", ""))["token"]


def _build_address(page: str, things: Mapping[str, str]) -> str:
    given = {**things, "version": "5" if page.startswith("rules") else "v1.0"}
    if page in _TEXT_PAGES:
        given["workflow_id"] = things["texts_id"]
    if page == "bank_file":
        given["file_id"] = things["bank_file_id"]
    if page.startswith("debit_file"):
        given["file_id"] = things["debit_file_id"]
    if page.startswith("plan") or page == "mandate":
        given["claim_id"] = things["plan_claim_id"]
    channel = "LETTER" if page == "text_sheet" else "EMAIL"
    query = f"?template=reminder&channel={channel}&language=de" if page in _TEXT_PAGES else ""
    return PATHS[page].format_map(given) + query


async def _send(
    clerk: Clerk, page: str, method: str, things: Mapping[str, str], token: str, **more: Any
) -> httpx.Response:
    address = _build_address(page, things)
    if method == "GET":
        return await clerk.get(address)
    return await clerk.post(address, {**things, **_FORM, "token": token}, **more)


def test_every_page_of_a_merchant_has_its_roles() -> None:
    pages = {page for page in PATHS if names_merchant(page)}
    assert {page for page, _ in _ROLES} == pages - _ELSEWHERE


@pytest.mark.parametrize("role", Role)
async def test_each_page_is_available_to_its_roles_only(
    harness: Harness, things: Mapping[str, str], role: Role
) -> None:
    clerk, token = await _sign_in_with_token(harness, role)
    before = await digest_rows(harness)
    for (page, method), roles in _ROLES.items():
        if role not in roles:
            answer = await _send(clerk, page, method, things, token)
            assert answer.status_code == 404, (page, method)
            assert "Page not found" in answer.text
    assert await digest_rows(harness) == before
    for (page, method), roles in sorted(_ROLES.items(), key=lambda each: each[0][1]):
        if role in roles and (method == "GET" or page not in _MAY_BE_GONE):
            answer = await _send(clerk, page, method, things, token)
            assert answer.status_code in (200, 303, 409, 422), (page, method)


async def test_forms_from_other_origins_or_without_a_token_are_refused(
    harness: Harness, things: Mapping[str, str]
) -> None:
    clerk, token = await _sign_in_with_token(harness, Role.ADMIN)
    before = await digest_rows(harness)
    for page, method in _ROLES:
        if method == "POST":
            for given, headers in (("", OWN_FORM), (token, _FOREIGN)):
                answer = await _send(clerk, page, method, things, given, headers=headers)
                assert answer.status_code == 403, (page, headers)
    assert await digest_rows(harness) == before


async def test_users_of_another_merchant_find_no_page(
    resources: Resources, harness: Harness, things: Mapping[str, str]
) -> None:
    own = await a_harness(resources, harness.clock, key="own")
    clerk, token = await _sign_in_with_token(own, Role.MERCHANT_USER)
    before = await digest_rows(harness)
    for page, method in _ROLES:
        answer = await _send(clerk, page, method, things, token)
        assert answer.status_code == 404, (page, method)
    assert await digest_rows(harness) == before


async def test_another_merchants_objects_are_not_found_below_the_own_merchant(
    resources: Resources, harness: Harness, things: Mapping[str, str]
) -> None:
    own = await a_harness(resources, harness.clock, key="own")
    clerk, token = await _sign_in_with_token(own, Role.ADMIN)
    there = {**things, "merchant_id": str(own.merchant.merchant_id)}
    before = await digest_rows(harness), await digest_rows(own)
    for page, method in _ROLES:
        if "_id}" in PATHS[page].replace("{merchant_id}", "") or page in _OTHER_OBJECTS:
            answer = await _send(clerk, page, method, there, token)
            expected = (303, 404) if page in _REDIRECTED else (404,)
            assert answer.status_code in expected, (page, method)
    assert (await digest_rows(harness), await digest_rows(own)) == before
