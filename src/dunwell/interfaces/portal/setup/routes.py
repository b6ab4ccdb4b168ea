"""A new merchant, and the settings of one: what is missing, and the way to each form."""

from collections.abc import Mapping

from starlette.responses import Response

from dunwell.accounts.merchants.credentials.credentials import list_credentials
from dunwell.accounts.merchants.credentials.store import find_merchant_id_by_key
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.user import SignedInUser
from dunwell.cases.assignment.rules_views import has_rules
from dunwell.cases.rollout.workflow_overviews import has_published_workflow
from dunwell.core.events.webhooks.endpoints import list_endpoints
from dunwell.core.files.uploads import get_storage_use
from dunwell.interfaces.portal.setup.sections import SECTION_BY_KEY, SECTIONS
from dunwell.interfaces.portal.setup.views import (
    TIMEZONES,
    MerchantSettingsPage,
    NewMerchantPage,
    check_may_configure,
    get_installation_limits,
)
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.confirming import SensitiveAction, confirmed
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, signed_in, takes_form
from dunwell.interfaces.portal.web.paging import PAGE
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.forms import PlacedFaults, find_field
from dunwell.operations.merchant_file.checklist import build_checklist
from dunwell.operations.merchant_file.open_merchant import open_merchant
from dunwell.operations.merchant_file.settings import find_counterpart_key
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import NotFound, ValidationError

_NAMES = ("name", "key", "kind", "language", "timezone", "currency", "beside")
_FIRST = {
    "kind": "sandbox", "language": "de", "timezone": "Europe/Berlin", "currency": "EUR",
}  # fmt: skip


@signed_in
async def show_new(site: PortalSite, visit: PortalRequest, person: SignedInUser) -> Response:
    _need_everywhere(person)
    beside = await _find_beside(site, visit.ask("beside"))
    typed = {**dict.fromkeys(_NAMES, ""), **_FIRST}
    if beside is not None:
        typed |= _describe_counterpart(beside)
    return _answer_new(site, visit, typed)


@takes_form
@confirmed(SensitiveAction.NEW_MERCHANT)
async def open_new(
    site: PortalSite, visit: PortalRequest, person: SignedInUser, fields: FormFields
) -> Response:
    _need_everywhere(person)
    typed = {name: fields.text(name) for name in _NAMES}
    document = {name: typed[name] for name in ("key", "name", "language", "timezone", "currency")}
    sandbox = {"sandbox": typed["kind"] == "sandbox"}
    beside = await _find_beside(site, typed["beside"])
    try:
        async with site.resources.database.transaction() as tx:
            merchant_id = await open_merchant(
                site.resources, tx, person.actor,
                document={**document, **sandbox}, limits=get_installation_limits(site),
                counterpart=beside,
            )  # fmt: skip
    except ValidationError as refusal:
        faults = [(find_field(_NAMES, fault.path), fault) for fault in refusal.faults]
        return _answer_new(site, visit, typed, faults)
    return site.redirect(visit, None, "settings", merchant_id=merchant_id, done="opened")


@at_merchant
async def show_settings(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    check_may_configure(access)
    async with site.work(access) as work:
        credentials = await list_credentials(work)
        endpoints = (await list_endpoints(work, limit=PAGE)).items
        is_assigned = await has_rules(work)
        is_published = await has_published_workflow(work)
        beside = await _find_named_beside(work.tx, access)
        storage = await get_storage_use(work, site.resources.settings.merchant_storage_bytes)
    brand = access.merchant.configuration.brand
    page = MerchantSettingsPage(
        checklist=build_checklist(access.merchant),
        section_of=SECTION_BY_KEY,
        sections=[*SECTIONS],
        beside=beside,
        beside_key=find_counterpart_key(access.merchant),
        live_credentials=sum(each.revoked_at is None for each in credentials),
        endpoints=len(endpoints),
        has_process=is_published,
        has_rules=is_assigned,
        has_brand=brand.logo is not None or brand.color is not None,
        storage=storage,
    )
    return site.answer_at(visit, access, page)


async def _find_named_beside(tx: Connection, access: MerchantAccess) -> tuple[int, str] | None:
    """The counterpart that is there, if the person reaches it."""
    key = find_counterpart_key(access.merchant)
    merchant_id = await find_merchant_id_by_key(tx, key) if key else None
    if merchant_id is None or not access.person.reaches(merchant_id):
        return None
    return merchant_id, key


async def _find_beside(site: PortalSite, given: str) -> Merchant | None:
    """Whoever may configure all merchants may begin with the settings of any. Raises NotFound."""
    if not given:
        return None
    is_id = given.isascii() and given.isdecimal() and len(given) < 10
    merchant = await site.find_merchant(int(given)) if is_id else None
    if merchant is None:
        raise NotFound("There is no such merchant.")
    return merchant


def _describe_counterpart(beside: Merchant) -> Mapping[str, str]:
    configuration = beside.configuration
    return {
        "beside": str(beside.merchant_id),
        "name": beside.name,
        "key": find_counterpart_key(beside),
        "kind": "live" if beside.is_sandbox else "sandbox",
        "language": configuration.language,
        "timezone": configuration.timezone,
        "currency": configuration.currency,
    }


def _need_everywhere(person: SignedInUser) -> None:
    """Raises NotFound: denied looks like absent."""
    if Right.CONFIGURE not in person.rights_everywhere:
        raise NotFound("There is no such page.")


def _answer_new(
    site: PortalSite, visit: PortalRequest, typed: Mapping[str, str], faults: PlacedFaults = ()
) -> Response:
    page = NewMerchantPage(typed, faults, TIMEZONES)
    return site.answer(site.frame(visit), page, 422 if faults else 200)


PAGES: RoutedPages = {
    "merchant_new": {"GET": show_new, "POST": open_new},
    "settings": {"GET": show_settings},
}
