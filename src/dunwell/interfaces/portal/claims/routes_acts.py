"""The forms that change one claim.

Each bears what its page had read (`compare_claim`): if somebody was faster, nothing is done, the
page shows what has changed beside what was typed, and a second click goes through.
"""

from collections.abc import Sequence

from starlette.responses import Response

from dunwell.cases.disputes.reasons import list_reasons
from dunwell.core.claims.access import check_unchanged, find_last_seen, load_seen
from dunwell.core.claims.read_claim import ClaimView, read_claim
from dunwell.interfaces.portal.claims.acts import ACTS, Act, Typed, fill_contact, place_fault
from dunwell.interfaces.portal.claims.views import ActPage, describe_head
from dunwell.interfaces.portal.web.access import Access
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.looking import look_at_claim, read_claim_id
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.operations.explanation.claim_life import Happening, read_claim_life
from dunwell.platform.errors import EditConflict, InvalidState, NotFound, ValidationError


@at_merchant
async def show_act(site: PortalSite, visit: PortalRequest, access: Access) -> Response:
    act, claim_id = _find_act(visit, access), read_claim_id(visit)
    async with site.work(access) as work:
        seen = await load_seen(work, claim_id)
        view = await look_at_claim(work, access, claim_id)
    if act.is_for_active and not describe_head(view).is_active:
        return site.redirect(visit, access, "claim", claim_id=claim_id)
    language = site.frame(visit, access).language
    values = {**dict.fromkeys(act.names, ""), **act.fill(view, language)}
    if "form_id" in values:
        values["form_id"] = str(site.resources.ids.new(site.now()))
    return _answer(site, visit, access, (view, seen), values=values)


@takes_form_at_merchant
async def take_act(
    site: PortalSite, visit: PortalRequest, access: Access, fields: FormFields
) -> Response:
    """1. look whether the claim is as it was seen, and lock it
    2. read the form and do it, in the same transaction
    3. what does not go is told with all that was typed, in a new look at the claim"""
    act, claim_id = _find_act(visit, access), read_claim_id(visit)
    language, faults, refused = site.frame(visit, access).language, list[tuple[str, str]](), 0
    try:
        async with site.work(access) as work:
            await check_unchanged(work, claim_id, fields["revision"])
            claim = await read_claim(work, claim_id)
            typed = Typed(fields, claim, language, site.resources.keys)
            run = await act.prepare(work, typed)
            faults = typed.faults
            if not faults:
                await run()
                name = visit.path_params["act"]
                return site.redirect(visit, access, "claim", claim_id=claim_id, done=name)
    except EditConflict:
        return await _answer_conflict(site, visit, access, fields)
    except ValidationError as refusal:
        faults, refused = [place_fault(each) for each in refusal.faults], 422
    except InvalidState as refusal:
        faults, refused = [("", refusal.text)], 409
    async with site.work(access) as work:
        seen = await load_seen(work, claim_id)
        view = await look_at_claim(work, access, claim_id)
    values = {name: fields.text(name) for name in act.names}
    return _answer(
        site, visit, access, (view, seen), values=values, faults=faults, status=refused or 422
    )


async def _answer_conflict(
    site: PortalSite, visit: PortalRequest, access: Access, fields: FormFields
) -> Response:
    """Both texts: what was typed, and what is there now."""
    act, claim_id = _find_act(visit, access), read_claim_id(visit)
    async with site.work(access) as work:
        seen = await load_seen(work, claim_id)
        view = await look_at_claim(work, access, claim_id)
        life = await read_claim_life(work, claim_id)
    changed = [each for each in life if each.at >= find_last_seen(fields["revision"])]
    values = {name: fields.text(name) for name in act.names}
    return _answer(
        site,
        visit,
        access,
        (view, seen),
        values=values,
        changed=changed[:10],
        is_conflict=True,
        status=409,
    )


def _answer(  # noqa: PLR0913 - what a form shows, by name
    site: PortalSite, visit: PortalRequest, access: Access, shown: tuple[ClaimView, str], *,
    values: dict[str, str], faults: Sequence[tuple[str, str]] = (),
    changed: Sequence[Happening] = (), is_conflict: bool = False, status: int = 200,
) -> Response:  # fmt: skip
    name, (view, seen) = visit.path_params["act"], shown
    stored = fill_contact(view) if name == "contact" and is_conflict else {}
    page = ActPage(
        act=name,
        head=describe_head(view),
        seen=seen,
        values=values,
        faults=faults,
        changed=changed,
        is_conflict=is_conflict,
        stored={field: text for field, text in stored.items() if text != values.get(field)},
        reasons=[each.name for each in list_reasons(access.merchant.configuration.disputes)],
        workflows=(),
    )
    return site.answer_at(visit, access, page, status)


def _find_act(visit: PortalRequest, access: Access) -> Act:
    """Raises NotFound, also for what the person may not do."""
    act = ACTS.get(visit.path_params["act"])
    if act is None or not access.may(act.right):
        raise NotFound("There is no such form.")
    return act


PAGES: RoutedPages = {"claim_act": {"GET": show_act, "POST": take_act}}
