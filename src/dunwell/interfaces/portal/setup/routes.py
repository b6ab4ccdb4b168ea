"""Creating a merchant, and the overview of a merchant's settings with its checklist."""

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
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest
from dunwell.interfaces.portal.web.confirm_identity import SensitiveAction, confirmed
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, signed_in, takes_form
from dunwell.interfaces.portal.web.lists import PAGE_SIZE
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FieldFaults, FormFields, find_field
from dunwell.operations.merchant_file.checklist import build_checklist
from dunwell.operations.merchant_file.open_merchant import open_merchant
from dunwell.operations.merchant_file.settings import find_counterpart_key
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import NotFound, ValidationError

_FIELD_NAMES = ("name", "key", "kind", "language", "timezone", "currency", "counterpart")
_DEFAULTS = {
    "kind": "sandbox", "language": "de", "timezone": "Europe/Berlin", "currency": "EUR",
}  # fmt: skip


@signed_in
async def get_new_merchant_page(
    site: PortalSite, request: PortalRequest, person: SignedInUser
) -> Response:
    _check_may_create_merchants(person)
    counterpart = await _find_requested_counterpart(site, request.get_parameter("counterpart"))
    typed = {**dict.fromkeys(_FIELD_NAMES, ""), **_DEFAULTS}
    if counterpart is not None:
        typed |= _describe_counterpart(counterpart)
    return _render_new_merchant_page(site, request, typed)


@takes_form
@confirmed(SensitiveAction.NEW_MERCHANT)
async def submit_new_merchant(
    site: PortalSite, request: PortalRequest, person: SignedInUser, fields: FormFields
) -> Response:
    _check_may_create_merchants(person)
    typed = {name: fields.text(name) for name in _FIELD_NAMES}
    document = {name: typed[name] for name in ("key", "name", "language", "timezone", "currency")}
    sandbox = {"sandbox": typed["kind"] == "sandbox"}
    counterpart = await _find_requested_counterpart(site, typed["counterpart"])
    try:
        async with site.resources.database.transaction() as tx:
            merchant_id = await open_merchant(
                site.resources, tx, person.actor,
                document={**document, **sandbox}, limits=get_installation_limits(site),
                counterpart=counterpart,
            )  # fmt: skip
    except ValidationError as refusal:
        faults = [(find_field(_FIELD_NAMES, fault.path), fault) for fault in refusal.faults]
        return _render_new_merchant_page(site, request, typed, faults)
    return site.redirect(request, None, "settings", merchant_id=merchant_id, done="opened")


@at_merchant
async def get_settings_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    check_may_configure(access)
    async with site.open_work(access) as work:
        credentials = await list_credentials(work)
        endpoints = (await list_endpoints(work, limit=PAGE_SIZE)).items
        has_assignment_rules = await has_rules(work)
        has_published = await has_published_workflow(work)
        counterpart = await _find_counterpart(work.tx, access)
        storage = await get_storage_use(work, site.resources.settings.merchant_storage_bytes)
    brand = access.merchant.configuration.brand
    page = MerchantSettingsPage(
        checklist=build_checklist(access.merchant),
        section_of=SECTION_BY_KEY,
        sections=[*SECTIONS],
        counterpart=counterpart,
        counterpart_key=find_counterpart_key(access.merchant),
        active_credentials=sum(each.revoked_at is None for each in credentials),
        endpoints=len(endpoints),
        has_published_workflow=has_published,
        has_rules=has_assignment_rules,
        has_brand=brand.logo is not None or brand.color is not None,
        storage=storage,
    )
    return site.render_merchant_page(request, access, page)


async def _find_counterpart(tx: Connection, access: MerchantAccess) -> tuple[int, str] | None:
    """Return the id and the key of the merchant's counterpart, or None if it does not exist or the
    user has no access to it."""
    key = find_counterpart_key(access.merchant)
    merchant_id = await find_merchant_id_by_key(tx, key) if key else None
    if merchant_id is None or not access.person.has_access_to(merchant_id):
        return None
    return merchant_id, key


async def _find_requested_counterpart(site: PortalSite, given: str) -> Merchant | None:
    """Find the merchant whose settings the new one starts with. Users who configure all merchants
    may choose any. Raises NotFound."""
    if not given:
        return None
    is_id = given.isascii() and given.isdecimal() and len(given) < 10
    merchant = await site.find_merchant(int(given)) if is_id else None
    if merchant is None:
        raise NotFound("There is no such merchant.")
    return merchant


def _describe_counterpart(counterpart: Merchant) -> Mapping[str, str]:
    configuration = counterpart.configuration
    return {
        "counterpart": str(counterpart.merchant_id),
        "name": counterpart.name,
        "key": find_counterpart_key(counterpart),
        "kind": "live" if counterpart.is_sandbox else "sandbox",
        "language": configuration.language,
        "timezone": configuration.timezone,
        "currency": configuration.currency,
    }


def _check_may_create_merchants(person: SignedInUser) -> None:
    """Raise NotFound if the user lacks the permission: the page must not be distinguishable from
    a missing one."""
    if Right.CONFIGURE not in person.rights_everywhere:
        raise NotFound("There is no such page.")


def _render_new_merchant_page(
    site: PortalSite, request: PortalRequest, typed: Mapping[str, str], faults: FieldFaults = ()
) -> Response:
    page = NewMerchantPage(typed, faults, TIMEZONES)
    return site.render_page(site.build_context(request), page, 422 if faults else 200)


PAGES: RoutedPages = {
    "merchant_new": {"GET": get_new_merchant_page, "POST": submit_new_merchant},
    "settings": {"GET": get_settings_page},
}
