"""Publishing and discarding the draft, and the list of published versions."""

from collections.abc import Sequence

from starlette.responses import Response

from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.rules import compare_rules
from dunwell.cases.assignment.rules_draft import (
    RulesConfirmation,
    describe_author,
    discard_rules_draft,
    publish_rules_draft,
    save_rules_draft,
)
from dunwell.cases.assignment.rules_views import get_rules, get_rules_version, list_rules_versions
from dunwell.cases.assignment.store import RulesDraftChange
from dunwell.interfaces.portal.rules.views import (
    PublishRulesPage,
    RulesVersionPage,
    RulesVersionsPage,
    build_rule_rows,
    check_page_access,
    list_author_names,
    load_rules,
)
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.platform.errors import EditConflict, Fault, InvalidState, NotFound, ValidationError

_PAGE_SIZE = 50
_MAX_VERSION = 2**31 - 1


@at_merchant
async def get_publishing_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_publishing_page(site, request, access, FormFields({}))


@takes_form_at_merchant
async def submit_publication(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    check_page_access(access, Right.PUBLISH)
    action = RulesConfirmation(fields["revision"], fields.all("agreed"), fields.text("comment"))
    try:
        async with site.open_work(access) as work:
            await publish_rules_draft(work, action)
    except EditConflict:
        return await _render_publishing_page(site, request, access, fields, is_conflict=True)
    except ValidationError as refusal:
        return await _render_publishing_page(site, request, access, fields, faults=refusal.faults)
    except InvalidState:
        return site.redirect(request, access, "rules", done="nothing")
    return site.redirect(request, access, "rules", done="published")


@takes_form_at_merchant
async def submit_discard(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    check_page_access(access)
    try:
        async with site.open_work(access) as work:
            await discard_rules_draft(work, expected_revision=fields["revision"])
    except EditConflict:
        return await _render_publishing_page(site, request, access, fields, is_conflict=True)
    except InvalidState:
        return site.redirect(request, access, "rules", done="nothing")
    return site.redirect(request, access, "rules", done="discarded")


async def _render_publishing_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields, *,
    faults: Sequence[Fault] = (), is_conflict: bool = False,
) -> Response:  # fmt: skip
    check_page_access(access)
    async with site.open_work(access) as work:
        loaded, own_author = await load_rules(work), describe_author(work)
    if loaded.view.draft_rules is None:
        return site.redirect(request, access, "rules", done="nothing")
    by_author: dict[str, list[RulesDraftChange]] = {}
    for change in loaded.view.changes:
        by_author.setdefault(change.author, []).append(change)
    page = PublishRulesPage(
        view=loaded.view,
        differences=[*compare_rules(loaded.view.published, loaded.document)],
        rows=build_rule_rows(loaded.rulebook, loaded.document, loaded.overlaps),
        by_author=[*by_author.items()],
        own_author=own_author,
        author_names=loaded.author_names,
        currency=access.merchant.configuration.currency,
        comment=fields.text("comment"),
        agreed=() if is_conflict else fields.all("agreed"),
        faults=[(each.path.partition("/")[2], each.code) for each in faults],
        target_faults=[each.message for each in faults if each.code not in _FIELD_FAULT_CODES],
        is_conflict=is_conflict,
    )
    status = 422 if faults else 200
    return site.render_merchant_page(request, access, page, 409 if is_conflict else status)


# The codes of faults that are shown next to a field of the form.
_FIELD_FAULT_CODES = frozenset({"NOT_AGREED", "TOO_LONG", "CONTROL_CHARACTER"})


@at_merchant
async def get_versions_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    check_page_access(access)
    up_to = _parse_number(request.get_parameter("from"))
    async with site.open_work(access) as work:
        published_version = (await get_rules(work)).version or 0
        found = await list_rules_versions(work, up_to=up_to or None, limit=_PAGE_SIZE + 1)
        author_names = await list_author_names(work, (), [each.actor_id for each in found])
    next_version = found[_PAGE_SIZE].version if len(found) > _PAGE_SIZE else 0
    page = RulesVersionsPage(
        found[:_PAGE_SIZE],
        published_version,
        author_names=author_names,
        from_version=up_to,
        next_version=next_version,
    )
    return site.render_merchant_page(request, access, page)


@at_merchant
async def get_version_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_version_page(site, request, access)


@takes_form_at_merchant
async def submit_restore(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Make the version the draft, which is reviewed and published like any other."""
    check_page_access(access)
    number = _get_version_number(request)
    try:
        async with site.open_work(access) as work:
            shown_version = await get_rules_version(work, number)
            await save_rules_draft(
                work, shown_version.document, expected_revision=fields["revision"]
            )
    except EditConflict:
        return await _render_version_page(site, request, access, is_conflict=True, status=409)
    except ValidationError as refusal:
        missing = [each.message for each in refusal.faults]
        return await _render_version_page(site, request, access, faults=missing, status=422)
    return site.redirect(request, access, "rules", done="restored")


async def _render_version_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, *, faults: Sequence[str] = (),
    is_conflict: bool = False, status: int = 200,
) -> Response:  # fmt: skip
    check_page_access(access)
    number = _get_version_number(request)
    async with site.open_work(access) as work:
        shown_version = await get_rules_version(work, number)
        view = await get_rules(work)
        author_names = await list_author_names(work, (), [shown_version.version.actor_id])
    page = RulesVersionPage(
        shown_version=shown_version,
        revision=view.revision,
        has_draft=view.draft_rules is not None,
        differences=[*compare_rules(view.published, shown_version.document)],
        author_names=author_names,
        currency=access.merchant.configuration.currency,
        faults=faults,
        is_conflict=is_conflict,
    )
    return site.render_merchant_page(request, access, page, status)


def _get_version_number(request: PortalRequest) -> int:
    """Return the version number in the path. Raises NotFound if it is not a number."""
    number = _parse_number(request.path_params["version"])
    if not number:
        raise NotFound("There is no such page.")
    return number


def _parse_number(text: str) -> int:
    is_number = text.isascii() and text.isdecimal() and len(text) <= 10
    return int(text) if is_number and int(text) <= _MAX_VERSION else 0


PAGES: RoutedPages = {
    "rules_publish": {"GET": get_publishing_page, "POST": submit_publication},
    "rules_discard": {"GET": get_publishing_page, "POST": submit_discard},
    "rules_versions": {"GET": get_versions_page},
    "rules_version": {"GET": get_version_page, "POST": submit_restore},
}
