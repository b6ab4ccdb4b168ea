"""Releasing debits: the preview, the files for the bank, the release by a second user, and the
download."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import ClassVar
from uuid import UUID

import msgspec
from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import DirectDebitSettings
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.store import load_assignees_by_id
from dunwell.cases.direct_debit.files.release_debits import (
    MAX_DEBITS,
    confirm_debit_file,
    dissolve_debit_file,
    download_debit_file,
    release_debits,
)
from dunwell.cases.direct_debit.files.store import DebitFile, DebitFileState
from dunwell.cases.direct_debit.listing.list_debits import (
    DebitFileDetails,
    DebitFileFilter,
    ReleasableDebit,
    get_debit_file,
    list_debit_files,
    list_debits_to_release,
)
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest, parse_path_id
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.lists import PAGE_SIZE, Sorting, load_page, parse_sorting
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.responses import build_file_response
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.text.differences import compute_revision


class DebitDay(msgspec.Struct, frozen=True, gc=False):
    """The debits of one day."""

    day: date
    debits: int
    amount_cents: int


class DebitReleasePage(Page, frozen=True):
    """The preview of a release. `lost` is the number of chosen debits that can no longer be
    released."""

    template: ClassVar[str] = "debit_release.html"
    area: ClassVar[str] = "debits"

    ids: Sequence[UUID]
    days: Sequence[DebitDay]
    amount_cents: int
    currency: str
    lost: int
    settings: DirectDebitSettings
    is_conflict: bool


class DebitFilesPage(Page, frozen=True):
    template: ClassVar[str] = "debit_files.html"
    area: ClassVar[str] = "debits"

    files: Sequence[DebitFile]
    state: str
    sorting: Sorting
    after: str
    next_cursor: str | None


class DebitFilePage(Page, frozen=True):
    """A file with its debits. `names` are the users' names by actor, such as "USER:<id>".
    `revision` changes with the debits of a proposal. `is_own` is true if this user proposed it."""

    template: ClassVar[str] = "debit_file.html"
    area: ClassVar[str] = "debits"

    file: DebitFile
    debits: Sequence[ReleasableDebit]
    names: Mapping[str, str]
    revision: str
    is_own: bool
    is_conflict: bool
    result_code: str


@at_merchant
async def redirect_to_debits(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Redirect users who open the URL of a form by hand."""
    return site.redirect(request, access, "debits")


@takes_form_at_merchant
async def submit_release(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Show what would be released, or release it."""
    if not access.may(Right.RECORD_MONEY):
        raise NotFound("There is no such page.")
    ids = _parse_ids(fields)
    if not ids:
        return site.redirect(request, access, "debits", done="none_chosen")
    if fields["do"] != "release":
        return await _render_preview(site, request, access, ids)
    try:
        async with site.open_work(access) as work:
            file = await release_debits(work, site.resources.keys, ids)
    except (ValidationError, NotFound):
        return await _render_preview(site, request, access, ids, is_conflict=True)
    done = "proposed" if file.state is DebitFileState.PROPOSED else "released"
    return site.redirect(request, access, "debit_file", file_id=file.file_id, done=done)


def _parse_ids(fields: FormFields) -> list[UUID]:
    """Return the chosen debits. Raises NotFound if an id is not valid."""
    texts = [text for each in fields.all("debit") for text in each.split()]
    try:
        return [UUID(each) for each in dict.fromkeys(texts[:MAX_DEBITS])]
    except ValueError:
        raise NotFound("There is no such debit.") from None


async def _render_preview(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, ids: Sequence[UUID], *,
    is_conflict: bool = False,
) -> Response:  # fmt: skip
    settings = access.merchant.configuration.payment.direct_debit
    async with site.open_work(access) as work:
        waiting = await list_debits_to_release(work, limit=MAX_DEBITS)
    chosen = [
        each.listed.collection
        for each in waiting
        if each.obstacle is None and each.listed.collection.collection_id in ids
    ]
    if not chosen or settings is None:
        return site.redirect(request, access, "debits", done="not_released")
    days = dict.fromkeys(each.collected_on for each in chosen)
    page = DebitReleasePage(
        ids=[each.collection_id for each in chosen],
        days=[
            DebitDay(day, len(cents), sum(cents))
            for day in days
            for cents in [[each.amount_cents for each in chosen if each.collected_on == day]]
        ],
        amount_cents=sum(each.amount_cents for each in chosen),
        currency=chosen[0].currency,
        lost=len(ids) - len(chosen),
        settings=settings,
        is_conflict=is_conflict,
    )
    return site.render_merchant_page(request, access, page, 409 if is_conflict else 200)


@at_merchant
async def get_files_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    after, asked = request.get_parameter("after"), request.get_parameter("state")
    state = next((each for each in DebitFileState if each == asked), None)
    sorting = parse_sorting(request.get_parameter("sort"), {"time"}, "-time")
    oldest_first = not sorting.is_descending
    async with site.open_work(access) as work:
        found = await load_page(
            lambda cursor: list_debit_files(
                work, limit=PAGE_SIZE, cursor=cursor, wanted=DebitFileFilter(state),
                oldest_first=oldest_first,
            ),
            after,
        )  # fmt: skip
    page = DebitFilesPage(
        files=found.items,
        state=state or "",
        sorting=sorting,
        after=after,
        next_cursor=found.next_cursor,
    )
    return site.render_merchant_page(request, access, page)


@at_merchant
async def get_file_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_file(site, request, access)


@takes_form_at_merchant
async def change_file(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Release a proposed file as a second user, or dissolve it."""
    file_id = parse_path_id(request, "file_id")
    try:
        if fields["do"] == "dissolve":
            async with site.open_work(access) as work:
                await dissolve_debit_file(work, file_id)
            return site.redirect(request, access, "debits", done="dissolved")
        async with site.open_work(access) as work:
            work.require(Right.RECORD_MONEY)
            details = await get_debit_file(work, file_id)
            is_seen = _compute_revision(details) == fields["revision"]
            if is_seen or details.file.state is not DebitFileState.PROPOSED:
                await confirm_debit_file(work, site.resources.keys, file_id)
    except ValidationError:
        is_seen = False
    except InvalidState as refusal:
        done = _REFUSALS.get(str(refusal.details.get("state")), "not_changed")
        return site.redirect(request, access, "debit_file", file_id=file_id, done=done)
    if not is_seen:
        return await _render_file(site, request, access, is_conflict=True)
    return site.redirect(request, access, "debit_file", file_id=file_id, done="released")


async def _render_file(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, *, is_conflict: bool = False
) -> Response:
    async with site.open_work(access) as work:
        details = await get_debit_file(work, parse_path_id(request, "file_id"))
        names = await _load_names(work, details.file)
    actor = access.actor
    page = DebitFilePage(
        file=details.file,
        debits=details.debits,
        names=names,
        revision=_compute_revision(details),
        is_own=details.file.created_by == f"{actor.kind}:{actor.actor_id}",
        is_conflict=is_conflict,
        result_code=request.get_parameter("done"),
    )
    return site.render_merchant_page(request, access, page, 409 if is_conflict else 200)


def _compute_revision(details: DebitFileDetails) -> str:
    collections = (each.listed.collection for each in details.debits)
    return compute_revision([f"{each.collection_id} {each.amount_cents}" for each in collections])


async def _load_names(work: Work, file: DebitFile) -> Mapping[str, str]:
    """Return the names of the users who proposed and released the file, by their actor."""
    work.require(Right.READ_CLAIMS)
    actors = {each for each in (file.created_by, file.released_by) if each is not None}
    users = {each: each.removeprefix("USER:") for each in actors if each.startswith("USER:")}
    ids = {UUID(each) for each in users.values()}
    found = await load_assignees_by_id(work.tx, work.merchant_id, ids)
    return {
        actor: found[UUID(user_id)].name
        for actor, user_id in users.items()
        if UUID(user_id) in found
    }


@takes_form_at_merchant
async def send_debit_file(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, _fields: FormFields
) -> Response:
    """Send the file as a download. After the first download, the file counts as delivered."""
    file_id = parse_path_id(request, "file_id")
    try:
        async with site.open_work(access) as work:
            loaded = await download_debit_file(work, site.resources.keys, file_id)
    except InvalidState:
        return site.redirect(request, access, "debit_file", file_id=file_id, done="not_changed")
    if loaded is None:
        return site.redirect(request, access, "debits", done="emptied")
    file, content = loaded
    return build_file_response(content, "application/xml", file.file_name)


@at_merchant
async def redirect_to_file(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Redirect users who open the URL of the download by hand. Raises NotFound."""
    file_id = parse_path_id(request, "file_id")
    async with site.open_work(access) as work:
        await get_debit_file(work, file_id)
    return site.redirect(request, access, "debit_file", file_id=file_id)


# The result code that the page shows, by the state in the error of a refused release.
_REFUSALS = {"SECOND_USER": "second_user", "PROPOSER": "proposer"}
PAGES: RoutedPages = {
    "debit_release": {"GET": redirect_to_debits, "POST": submit_release},
    "debit_files": {"GET": get_files_page},
    "debit_file": {"GET": get_file_page, "POST": change_file},
    "debit_file_download": {"GET": redirect_to_file, "POST": send_debit_file},
}
