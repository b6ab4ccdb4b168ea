"""Publishing and discarding the draft, and the versions that were published."""

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
    VersionsPage,
    check_may,
    list_shown,
    name_writers,
    open_rules,
)
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.platform.errors import EditConflict, Fault, InvalidState, NotFound, ValidationError

_PAGE = 50
_MOST_VERSION = 2**31 - 1


@at_merchant
async def show_publishing(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess
) -> Response:
    return await _answer_publishing(site, visit, access, FormFields({}))


@takes_form_at_merchant
async def publish(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    check_may(access, Right.PUBLISH)
    wish = RulesConfirmation(fields["revision"], fields.all("agreed"), fields.text("comment"))
    try:
        async with site.work(access) as work:
            await publish_rules_draft(work, wish)
    except EditConflict:
        return await _answer_publishing(site, visit, access, fields, is_conflict=True)
    except ValidationError as refusal:
        return await _answer_publishing(site, visit, access, fields, faults=refusal.faults)
    except InvalidState:
        return site.redirect(visit, access, "rules", done="nothing")
    return site.redirect(visit, access, "rules", done="published")


@takes_form_at_merchant
async def discard(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    check_may(access)
    try:
        async with site.work(access) as work:
            await discard_rules_draft(work, expected_revision=fields["revision"])
    except EditConflict:
        return await _answer_publishing(site, visit, access, fields, is_conflict=True)
    except InvalidState:
        return site.redirect(visit, access, "rules", done="nothing")
    return site.redirect(visit, access, "rules", done="discarded")


async def _answer_publishing(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, fields: FormFields, *,
    faults: Sequence[Fault] = (), is_conflict: bool = False,
) -> Response:  # fmt: skip
    check_may(access)
    async with site.work(access) as work:
        looked, own = await open_rules(work), describe_author(work)
    if looked.view.draft_rules is None:
        return site.redirect(visit, access, "rules", done="nothing")
    by_author: dict[str, list[RulesDraftChange]] = {}
    for change in looked.view.changes:
        by_author.setdefault(change.author, []).append(change)
    page = PublishRulesPage(
        view=looked.view,
        differences=[*compare_rules(looked.view.published, looked.document)],
        rows=list_shown(looked.rulebook, looked.document, looked.overlaps),
        by_author=[*by_author.items()],
        own=own,
        writers=looked.writers,
        currency=access.merchant.configuration.currency,
        comment=fields.text("comment"),
        agreed=() if is_conflict else fields.all("agreed"),
        faults=[(each.path.partition("/")[2], each.code) for each in faults],
        targets_wrong=[each.message for each in faults if each.code not in _OWN_CODES],
        is_conflict=is_conflict,
    )
    status = 422 if faults else 200
    return site.answer_at(visit, access, page, 409 if is_conflict else status)


# What stands beside a field of the form.
_OWN_CODES = frozenset({"NOT_AGREED", "TOO_LONG", "CONTROL_CHARACTER"})


@at_merchant
async def show_versions(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    check_may(access)
    up_to = _read_number(visit.ask("from"))
    async with site.work(access) as work:
        ruling = (await get_rules(work)).version or 0
        found = await list_rules_versions(work, up_to=up_to or None, limit=_PAGE + 1)
        writers = await name_writers(work, (), [each.actor_id for each in found])
    following = found[_PAGE].version if len(found) > _PAGE else 0
    page = VersionsPage(
        found[:_PAGE], ruling, writers=writers, from_version=up_to, next_version=following
    )
    return site.answer_at(visit, access, page)


@at_merchant
async def show_version(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    return await _answer_version(site, visit, access)


@takes_form_at_merchant
async def restore(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """The version becomes the draft, to be looked at and published like any other."""
    check_may(access)
    number = _read_version_number(visit)
    try:
        async with site.work(access) as work:
            seen = await get_rules_version(work, number)
            await save_rules_draft(work, seen.document, expected_revision=fields["revision"])
    except EditConflict:
        return await _answer_version(site, visit, access, is_conflict=True, status=409)
    except ValidationError as refusal:
        gone = [each.message for each in refusal.faults]
        return await _answer_version(site, visit, access, faults=gone, status=422)
    return site.redirect(visit, access, "rules", done="restored")


async def _answer_version(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, *, faults: Sequence[str] = (),
    is_conflict: bool = False, status: int = 200,
) -> Response:  # fmt: skip
    check_may(access)
    number = _read_version_number(visit)
    async with site.work(access) as work:
        seen = await get_rules_version(work, number)
        view = await get_rules(work)
        writers = await name_writers(work, (), [seen.version.actor_id])
    page = RulesVersionPage(
        seen=seen,
        revision=view.revision,
        has_draft=view.draft_rules is not None,
        differences=[*compare_rules(view.published, seen.document)],
        writers=writers,
        currency=access.merchant.configuration.currency,
        faults=faults,
        is_conflict=is_conflict,
    )
    return site.answer_at(visit, access, page, status)


def _read_version_number(visit: PortalRequest) -> int:
    """Raises NotFound for what can be none."""
    number = _read_number(visit.path_params["version"])
    if not number:
        raise NotFound("There is no such page.")
    return number


def _read_number(text: str) -> int:
    is_number = text.isascii() and text.isdecimal() and len(text) <= 10
    return int(text) if is_number and int(text) <= _MOST_VERSION else 0


PAGES: RoutedPages = {
    "rules_publish": {"GET": show_publishing, "POST": publish},
    "rules_discard": {"GET": show_publishing, "POST": discard},
    "rules_versions": {"GET": show_versions},
    "rules_version": {"GET": show_version, "POST": restore},
}
