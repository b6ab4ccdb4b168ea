"""Trying the rules on an existing or a hypothetical claim, and on all claims of the last 30
days."""

from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.matching import MatchedClaim
from dunwell.cases.assignment.preview_rules import continue_rules_preview, start_rules_preview
from dunwell.cases.assignment.rule_results import list_trials
from dunwell.cases.assignment.rulebook import Rulebook, load_rulebook_of_rules
from dunwell.cases.assignment.rules import RuleSet, build_document
from dunwell.cases.assignment.rules_views import RulesView, get_rules
from dunwell.cases.assignment.try_claim import (
    get_claim_facts,
    list_possible_matches,
    parse_hypothetical_claim,
)
from dunwell.core.claims.conditions import PROPERTIES, ConditionPropertyKind
from dunwell.core.claims.lists.list_claims import list_claims
from dunwell.core.claims.lists.store import ClaimFilter
from dunwell.interfaces.portal.rules.views import (
    PossibleOutcome,
    RulesEffectPage,
    TrialPage,
    check_page_access,
)
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest, open_claim
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import (
    AmountFormat,
    Field,
    FieldFaults,
    FieldKind,
    FormFields,
    build_form,
)
from dunwell.platform.errors import NotFound, ValidationError

_KINDS = {
    ConditionPropertyKind.AMOUNT: FieldKind.MONEY,
    ConditionPropertyKind.NUMBER: FieldKind.NUMBER,
    ConditionPropertyKind.CODES: FieldKind.TEXT,
    ConditionPropertyKind.TEXT: FieldKind.TEXT,
    ConditionPropertyKind.FIELDS: FieldKind.PAIRS,
}
# The fields of a hypothetical claim. Its items and its debtor's data are derived from the fees and
# the address.
_FIELDS = (
    *(Field(each.name, _KINDS[each.kind]) for each in PROPERTIES if each.kind in _KINDS),
    Field("currency"),
    Field("fees", FieldKind.PICKS),
    Field("address", FieldKind.FLAG),
)
# Claims counted in one request, while the user waits. A link to the next page counts older ones.
MAX_COUNTED_CLAIMS = 25_000


@at_merchant
async def get_trial_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Show how the rules assign the claim that the query names, if it names one."""
    check_page_access(access)
    reference = request.get_parameter("reference")[:100]
    async with site.open_work(access) as work:
        view = await get_rules(work)
        rulebook, is_draft = await _load_chosen_rulebook(work, view, request.get_parameter("rules"))
        facts, claim_id = None, await _find_claim(work, reference) if reference else None
        if claim_id is not None:
            await open_claim(work, access, claim_id)
            facts = await get_claim_facts(work, claim_id)
    page = _build_page(access, view, rulebook, is_draft=is_draft, facts=facts)
    page = msgspec.structs.replace(page, reference=reference, claim_id=claim_id)
    return site.render_merchant_page(request, access, page)


@takes_form_at_merchant
async def submit_trial(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Show how the rules assign a hypothetical claim. Nothing is stored, and personal data is not
    part of a URL."""
    check_page_access(access)
    currency = fields.text("currency") or access.merchant.configuration.currency
    amounts = AmountFormat(currency, site.build_context(request, access).language)
    form = build_form(_FIELDS, {}, amounts).with_sent_fields(fields)
    content = form.parse_content()
    custom = {name: value for name, value in content.parts["customFields"] if name}
    claim = {**content.parts, "customFields": custom}
    faults: FieldFaults = content.faults
    async with site.open_work(access) as work:
        view = await get_rules(work)
        rulebook, is_draft = await _load_chosen_rulebook(work, view, fields["rules"])
        facts = None
        try:
            checked = parse_hypothetical_claim(claim)
            facts = None if faults else await get_claim_facts(work, checked)
        except ValidationError as refusal:
            faults = content.combine_faults(
                form.locate_faults(refusal.faults, fallback="outstanding")
            )
    page = _build_page(access, view, rulebook, is_draft=is_draft, facts=facts)
    page = msgspec.structs.replace(page, is_hypothetical=True, faults=faults, form=form)
    return site.render_merchant_page(request, access, page, 422 if faults else 200)


@at_merchant
async def get_effect_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Show the effect of the draft compared with the published rules."""
    check_page_access(access)
    from_id = _parse_number(request.get_parameter("from"))
    async with site.open_work(access) as work:
        view = await get_rules(work)
        if view.draft_rules is None:
            return site.redirect(request, access, "rules", done="nothing")
        published_rules = view.published_rules.rules if view.published_rules else RuleSet()
        preview = await start_rules_preview(work, published_rules, view.draft_rules.rules)
        preview.next_id = from_id or preview.next_id
        await continue_rules_preview(work, preview, MAX_COUNTED_CLAIMS)
    names = {**preview.before.names, **preview.after.names}
    page = RulesEffectPage(
        effect=preview.effect,
        since=preview.since,
        from_id=from_id,
        next_id=preview.next_id,
        names=names,
        version=view.version or 0,
    )
    return site.render_merchant_page(request, access, page)


async def _load_chosen_rulebook(work: Work, view: RulesView, wanted: str) -> tuple[Rulebook, bool]:
    """Return the rules to try and whether they are the draft: the draft if there is one, unless the
    published rules are requested."""
    work.require(Right.READ_CLAIMS)
    is_draft = view.draft_rules is not None and wanted != "published"
    published_rules = view.published_rules.rules if view.published_rules else RuleSet()
    rules = view.draft_rules.rules if view.draft_rules and is_draft else published_rules
    return await load_rulebook_of_rules(work.tx, work.merchant, rules, None), is_draft


async def _find_claim(work: Work, reference: str) -> int | None:
    """Find a claim by its reference or by its number."""
    work.require(Right.READ_CLAIMS)
    found = await list_claims(work, limit=1, wanted=ClaimFilter(reference_number=reference))
    if found.items:
        return found.items[0].claim_id
    claim_id = _parse_number(reference)
    try:
        await get_claim_facts(work, claim_id)
    except NotFound:
        return None
    return claim_id


def _parse_number(text: str) -> int:
    is_number = text.isascii() and text.isdecimal() and len(text) <= 18
    return int(text) if is_number else 0


def _build_page(
    access: MerchantAccess,
    view: RulesView,
    rulebook: Rulebook,
    *,
    is_draft: bool,
    facts: MatchedClaim | None,
) -> TrialPage:
    document = build_document(rulebook.rules, view.names)
    own_currency = access.merchant.configuration.currency
    possibilities: Sequence[PossibleOutcome] = ()
    if facts is not None:
        possibilities = [
            PossibleOutcome(
                percent=each.percent,
                workflow=rulebook.names[each.match.workflow_id] if each.match.workflow_id else None,
                rule=each.match.rule,
                default=each.match.default,
                trials=list_trials(document.rules, each.match, facts.conditions),
            )
            for each in list_possible_matches(rulebook, facts)
        ]
    return TrialPage(
        has_draft=view.draft_rules is not None,
        is_draft=is_draft,
        version=view.version or 0,
        possibilities=possibilities,
        currency=facts.currency if facts else own_currency,
        form=build_form(_FIELDS, {"currency": own_currency}, AmountFormat(own_currency, "")),
    )


PAGES: RoutedPages = {
    "rules_try": {"GET": get_trial_page, "POST": submit_trial},
    "rules_effect": {"GET": get_effect_page},
}
