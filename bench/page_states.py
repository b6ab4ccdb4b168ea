"""The debtor pages that are measured, and how claims get into the states that they show."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import aiohttp
import pikepdf

from bench.debtor import Debtor, find_place, open_claim
from bench.merchant import BenchMerchant
from dunwell.contact.escalation.change_attachments import attach_file
from dunwell.contact.messages.claim_links import activate_claim_token
from dunwell.core.files.inspection import Inspector
from dunwell.core.files.storage import SealedFiles
from dunwell.core.files.upload import NewUpload
from dunwell.core.files.uploads import accept_upload, check_upload
from dunwell.interfaces.landing.session.session import Level

# The number of claims. Each session below needs its own.
CLAIMS = 7
_ANYBODYS = ("/q", "/q/new-link", "/q/new-link/sent", "/real", "/claim/notices", "/claim/ended")
_OF_AN_OPEN_CLAIM = (
    "/claim",
    "/claim/pay",
    "/claim/pay/method?cents=5000",
    "/claim/pay/transfer?want=whole",
    "/claim/pay/sent?want=whole",
    "/claim/options",
    "/claim/plan",
    "/claim/plan/check?offer=3",
    "/claim/later",
    "/claim/help",
    "/claim/dispute",
    "/claim/dispute/DEBTOR_ALREADY_PAID",
    "/claim/dispute/AMOUNT_WRONG",
    "/claim/documents",
    "/claim/preferences",
    "/claim/preferences/email",
)
_ADD_FEES = """
INSERT INTO items (merchant_id, claim_id, position, type, value_cents, item_date)
SELECT merchant_id, claim_id, 1, 'DUNNING_FEE', 250, '2026-03-01' FROM claims
"""


@dataclass(frozen=True, slots=True)
class Page:
    """`path` is the path of its address, with the claim's handle or without. `state` is the state
    of the claim on the page, `cookie` that of its session, and `status` that of the response."""

    path: str
    cookie: str = ""
    state: str = ""
    status: int = 200

    @property
    def address(self) -> str:
        return find_place(self.path, self.cookie)

    @property
    def name(self) -> str:
        said = self.state or ("" if self.status == 200 else str(self.status))
        return f"{self.path} ({said})" if said else self.path


async def prepare_pages(
    bench: BenchMerchant, http: aiohttp.ClientSession, origin: str
) -> Sequence[Page]:
    """Return each page once, the pages for claims in other states after those for an open claim."""
    async with bench.resources.database.connection() as connection:
        await connection.execute(_ADD_FEES)
        rows = await connection.fetch("SELECT claim_id FROM claims ORDER BY claim_id")
    claim_ids = [row["claim_id"] for row in rows]
    nobody = Debtor(http, origin)
    known = [
        replace(nobody, cookie=await open_claim(bench, claim_id, Level.CODE))
        for claim_id in claim_ids[:-1]
    ]
    by_link = replace(nobody, cookie=await open_claim(bench, claim_ids[-1], Level.LINK))
    await _attach_file(bench, claim_ids[0])
    opened, *others = known
    return [
        *(Page(path) for path in (*_ANYBODYS, await _give_link(bench, claim_ids[0]))),
        *(Page(path, opened.cookie) for path in _OF_AN_OPEN_CLAIM),
        Page(f"/claim/later/check?until={_in_days(7)}", opened.cookie),
        *_list_refusals(opened),
        *await _pay(others[0]),
        await _announce(others[1]),
        *await _ask_plan(others[2]),
        *await _object(others[3]),
        await _change_address(others[4]),
        *await _ask_code(by_link),
    ]


async def _pay(debtor: Debtor) -> list[Page]:
    checkout = await debtor.send(
        "/claim/pay/method?cents=5000", "/claim/pay/method", provider="sandbox"
    )
    receipt = await debtor.send(checkout, checkout, decision="pay", notices="never")
    return [
        _show(debtor, receipt), _show(debtor, receipt.replace("/return/", "/receipt/")),
        _show(debtor, "/claim", "paid in part"),
    ]  # fmt: skip


async def _announce(debtor: Debtor) -> Page:
    sent = await debtor.send("/claim/pay/sent?want=whole", "/claim/pay/sent", sent=_in_days(-1))
    return _show(debtor, sent, "sent")


async def _ask_plan(debtor: Debtor) -> list[Page]:
    plan = await debtor.send("/claim/plan/check?offer=3", "/claim/plan/check")
    return [
        _show(debtor, plan), _show(debtor, f"{plan}/withdraw"),
        _show(debtor, "/claim", "plan requested"),
    ]  # fmt: skip


async def _object(debtor: Debtor) -> list[Page]:
    path = "/claim/dispute/AMOUNT_WRONG"
    dispute = await debtor.send(path, path, message="Der Gutschein fehlt.", do="send")
    return [
        _show(debtor, dispute), _show(debtor, f"{dispute}/withdraw"),
        _show(debtor, "/claim", "disputed"),
    ]  # fmt: skip


async def _change_address(debtor: Debtor) -> Page:
    path = "/claim/preferences/email"
    return _show(debtor, await debtor.send(path, path, address="neu@example.org"))


async def _ask_code(debtor: Debtor) -> list[Page]:
    """Return the pages on which a debtor with a link confirms the identity."""
    path = "/claim/verify/preferences"
    return [
        _show(debtor, "/claim", "by link"), _show(debtor, path),
        _show(debtor, await debtor.send(path, f"{path}/send")),
    ]  # fmt: skip


def _list_refusals(debtor: Debtor) -> list[Page]:
    """Return the pages for wrong input, missing objects, and debtors without access."""
    return [
        Page("/claim/plan/check?offer=own&rate=x", debtor.cookie, status=422),
        Page("/claim/pay/method?want=part&amount=x", debtor.cookie, status=422),
        Page("/claim/nothing", debtor.cookie, status=404), Page("/claim", status=403),
        Page(f"/q/{'A' * 22}", status=410),
    ]  # fmt: skip


def _in_days(days: int) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).date().isoformat()


def _show(debtor: Debtor, path: str, state: str = "") -> Page:
    return Page(path, debtor.cookie, state)


async def _give_link(bench: BenchMerchant, claim_id: int) -> str:
    async with bench.resources.database.transaction() as tx:
        token = await activate_claim_token(
            tx, bench.resources.keys, bench.merchant.merchant_id, claim_id, datetime.now(UTC)
        )
    return f"/q/{token}"


async def _attach_file(bench: BenchMerchant, claim_id: int) -> None:
    resources, merchant_id = bench.resources, bench.merchant.merchant_id
    out = io.BytesIO()
    with pikepdf.new() as pdf:
        pdf.add_blank_page(page_size=(595, 842))
        pdf.save(out)
    upload = NewUpload("Rechnung", "rechnung.pdf", out.getvalue())
    ticket_id: UUID = resources.ids.new(resources.clock.now())
    inspector = Inspector(size=1)
    checked = await check_upload(inspector, merchant_id, ticket_id, upload)
    await SealedFiles.open(resources).save(checked.prepared.storage_key, checked.content)
    await inspector.close()
    async with resources.database.transaction() as tx:
        work = bench.work(tx)
        await accept_upload(work, checked.prepared)
        await attach_file(work, claim_id, ticket_id)
