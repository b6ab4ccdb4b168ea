"""Set up a bank account, and the mapping with which its CSV files are parsed."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import Any, ClassVar

import msgspec
from starlette.responses import Response

from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.statements.bank_accounts import (
    compute_account_revision,
    save_bank_account,
    save_csv_mapping,
)
from dunwell.cases.statements.formats.csv_mapping import check_mapping
from dunwell.cases.statements.formats.csv_statement import parse_csv
from dunwell.cases.statements.formats.statement import BankEntry, BankFileRefused, FilePlace
from dunwell.cases.statements.store import StatementAccount
from dunwell.interfaces.portal.statements.csv_form import (
    CsvSample,
    build_mapping,
    describe_mapping,
    guess_format,
    list_mapping_fields,
    parse_sample,
)
from dunwell.interfaces.portal.statements.routes_accounts import get_account
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest
from dunwell.interfaces.portal.web.confirm_identity import SensitiveAction, confirmed
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.web.uploads import Upload, takes_upload_at_merchant
from dunwell.interfaces.web.forms import (
    AmountFormat,
    Field,
    FieldFaults,
    FieldKind,
    Form,
    FormFields,
    build_form,
)
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import EditConflict, Fault, NotFound, ValidationError
from dunwell.platform.text.translation import LazyText

# How much of a sample file is kept in the form.
_MAX_SAMPLE_BYTES = 100_000
_PREVIEWED_ENTRIES = 10


class BankSetupPage(Page, frozen=True):
    """The form of an account. `account` is "" for a new one."""

    template: ClassVar[str] = "bank_setup.html"
    area: ClassVar[str] = "payments"

    account: str
    form: Form
    revision: str
    faults: FieldFaults
    is_conflict: bool


class CsvMappingPage(Page, frozen=True):
    """The form of the mapping. `sample` is the sample file, encoded for the form. `entries` are the
    first entries that were parsed from it, or None if it was not parsed yet. `problem` says why it
    cannot be parsed."""

    template: ClassVar[str] = "bank_csv.html"
    area: ClassVar[str] = "payments"

    account: StatementAccount
    form: Form
    groups: Sequence[tuple[str, Sequence[Field]]]
    shown: CsvSample
    sample: str
    revision: str
    faults: FieldFaults
    entries: Sequence[BankEntry] | None
    entry_count: int
    problem: LazyText | None
    is_conflict: bool = False
    max_sample_bytes: int = _MAX_SAMPLE_BYTES


def _check_may_set_up(access: MerchantAccess) -> None:
    if not access.may(Right.CONFIGURE):
        raise NotFound("There is no such page.")


async def _open_form(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> tuple[StatementAccount | None, Form]:
    """Return the stored account, None for a new one, and its form. Raises NotFound."""
    name = request.path_params.get("account")
    async with site.open_work(access) as work:
        stored = None if name is None else await get_account(work, name)
        banks = [] if access.merchant.is_sandbox else await _list_connections(work)
    document: dict[str, Any] = {}
    if stored is not None:
        document = {
            "iban": stored.iban,
            "holder": stored.holder,
            "maxAgeBankingDays": stored.max_age_banking_days,
            "tolerance": stored.tolerance_cents or None,
            "connection": stored.connection,
            "folder": stored.folder,
        }
    options = tuple(dict.fromkeys(filter(None, [*banks, document.get("connection")])))
    form_fields = [
        *([] if stored else [Field("account", is_required=True)]),
        Field("iban", is_required=True),
        Field("holder", is_required=True),
        Field("maxAgeBankingDays", FieldKind.NUMBER),
        Field("tolerance", FieldKind.MONEY),
        *([Field("connection", FieldKind.PICK, options), Field("folder")] if options else []),
    ]
    language = site.build_context(request, access).language
    amounts = AmountFormat(access.merchant.configuration.currency, language)
    return stored, build_form(form_fields, document, amounts)


async def _list_connections(work: Work) -> list[str]:
    installation = (await load_installation(work.tx)).installation
    return sorted(installation.bank_connections or {})


@at_merchant
async def get_setup_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    _check_may_set_up(access)
    stored, form = await _open_form(site, request, access)
    revision = compute_account_revision(stored)
    return _render_setup(site, request, access, form=form, revision=revision)


@takes_form_at_merchant
@confirmed(SensitiveAction.BANK_ACCOUNT)
async def submit_setup(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    stored, form = await _open_form(site, request, access)
    form, revision = form.with_sent_fields(fields), fields["revision"]
    content = form.parse_content()
    given = content.parts
    if content.faults:
        return _render_setup(
            site, request, access, form=form, revision=revision, faults=content.faults
        )
    name = stored.account if stored else given["account"]
    account = StatementAccount(
        name, given["iban"], given["holder"],
        max_age_banking_days=given.get("maxAgeBankingDays"),
        tolerance_cents=int(given.get("tolerance", 0)),
        csv_mapping=stored.csv_mapping if stored else None,
        connection=given.get("connection"), folder=given.get("folder", ""),
    )  # fmt: skip
    try:
        async with site.open_work(access) as work:
            await save_bank_account(work, account, revision)
    except ValidationError as refusal:
        faults = form.locate_faults(refusal.faults)
        return _render_setup(site, request, access, form=form, revision=revision, faults=faults)
    except EditConflict:
        if stored is None:
            faults = [("account", Fault("/account", "This name is in use.", "TAKEN"))]
            return _render_setup(site, request, access, form=form, revision=revision, faults=faults)
        revision = compute_account_revision(stored)
        return _render_setup(site, request, access, form=form, revision=revision, faults=None)
    return site.redirect(request, access, "bank_account", account=name, done="saved")


def _render_setup(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, *, form: Form,
    revision: str, faults: FieldFaults | None = (),
) -> Response:  # fmt: skip
    """Render the form. `faults` is None after a conflict."""
    account, is_conflict = request.path_params.get("account", ""), faults is None
    page = BankSetupPage(account, form, revision, faults=faults or (), is_conflict=is_conflict)
    status = 409 if is_conflict else 422 if faults else 200
    return site.render_merchant_page(request, access, page, status)


@at_merchant
async def get_csv_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    _check_may_set_up(access)
    async with site.open_work(access) as work:
        account = await get_account(work, request.path_params["account"])
    page = _build_csv_page(account, sent=None)
    return site.render_merchant_page(request, access, page)


async def _submit_csv(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, upload: Upload
) -> Response:
    """Show the sample parsed with the entered mapping, or save the mapping."""
    _check_may_set_up(access)
    async with site.open_work(access) as work:
        account = await get_account(work, request.path_params["account"])
    page = _build_csv_page(account, sent=upload)
    is_readable = not page.faults and page.problem is None
    if upload.fields["do"] == "save" and is_readable:
        mapping = build_mapping(account.iban, page.form.parse_content().parts)
        try:
            async with site.open_work(access) as work:
                await save_csv_mapping(work, account.account, mapping, upload.fields["revision"])
        except EditConflict:
            revision = compute_account_revision(account)
            page = msgspec.structs.replace(page, revision=revision, is_conflict=True)
            return site.render_merchant_page(request, access, page, 409)
        name = account.account
        return site.redirect(request, access, "bank_account", account=name, done="mapping")
    return site.render_merchant_page(request, access, page, 200 if is_readable else 422)


submit_csv = takes_upload_at_merchant(_submit_csv, _MAX_SAMPLE_BYTES * 10)


def _get_sample(upload: Upload) -> bytes:
    """Return the beginning of the file that was just uploaded, or of the one that was uploaded
    before."""
    if "sample_file" in upload.files:
        content = upload.files["sample_file"]
        if len(content) > _MAX_SAMPLE_BYTES:
            content = content[:_MAX_SAMPLE_BYTES].rpartition(b"\n")[0]
        return content
    try:
        return base64.b64decode(upload.fields["sample"], validate=True)[:_MAX_SAMPLE_BYTES]
    except (binascii.Error, ValueError):
        return b""


def _build_csv_form(
    account: StatementAccount, sample: bytes, sent: FormFields | None, *, is_first: bool
) -> Form:
    """Build the form. For the first sample, encoding and delimiter are guessed."""
    document = describe_mapping(account.csv_mapping)
    form = build_form(list_mapping_fields(()), document, AmountFormat("EUR", "en"))
    if is_first:
        form = replace(form, typed={**form.typed, **guess_format(sample)})
    elif sent is not None:
        form = form.with_sent_fields(sent)
    columns = parse_sample(sample, form.typed).columns
    chosen = {
        str(form.typed[each.name])
        for each in form.fields
        if each.group == "columns" and each.kind is FieldKind.PICK
    }
    others = sorted(chosen - {value for value, _ in columns} - {""})
    return replace(form, fields=list_mapping_fields([*columns, *((each, each) for each in others)]))


def _build_csv_page(account: StatementAccount, *, sent: Upload | None) -> CsvMappingPage:
    sample = b"" if sent is None else _get_sample(sent)
    fields = None if sent is None else sent.fields
    is_shown = account.csv_mapping is not None or bool(fields and fields["sample"])
    form = _build_csv_form(account, sample, fields, is_first=bool(sample) and not is_shown)
    content = form.parse_content()
    faults: FieldFaults = content.faults if sent is not None and is_shown else ()
    entries: Sequence[BankEntry] | None = None
    problem = None
    if sent is not None and is_shown and not faults:
        mapping = build_mapping(account.iban, content.parts)
        try:
            check_mapping(mapping)
            if sample:
                entries = parse_csv(sample, FilePlace("CSV"), mapping).entries
        except ValidationError as refusal:
            faults = form.locate_faults(refusal.faults)
        except BankFileRefused as refusal:
            problem = refusal.problem
    return CsvMappingPage(
        account=account,
        form=form,
        groups=[(name, list(each)) for name, each in groupby(form.fields, attrgetter("group"))],
        shown=parse_sample(sample, form.typed),
        sample=base64.b64encode(sample).decode(),
        revision=compute_account_revision(account) if fields is None else fields["revision"],
        faults=faults,
        entries=None if entries is None else entries[:_PREVIEWED_ENTRIES],
        entry_count=len(entries or ()),
        problem=problem,
    )


PAGES: RoutedPages = {
    "bank_new": {"GET": get_setup_page, "POST": submit_setup},
    "bank_setup": {"GET": get_setup_page, "POST": submit_setup},
    "bank_csv": {"GET": get_csv_page, "POST": submit_csv},
}
