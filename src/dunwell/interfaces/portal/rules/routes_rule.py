"""One rule: the form that changes it or makes a new one, checked while it is written."""

from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.document import RuleDocument, write_rules
from dunwell.cases.assignment.edit_rules import (
    CheckedRule,
    RuleOvertaken,
    check_rule,
    edit_rules_draft,
)
from dunwell.cases.assignment.editing import PutRule, find_rule, make_fingerprint
from dunwell.cases.assignment.read_rules import RulesView, read_rules
from dunwell.cases.assignment.targets import make_rulebook
from dunwell.interfaces.portal.rules.looking import check_may, list_choices, name_writers
from dunwell.interfaces.portal.rules.marks import Marks, find_marks
from dunwell.interfaces.portal.rules.rule_form import (
    FormFault,
    TypedRule,
    fill_form,
    find_field,
    find_form_faults,
    make_room,
    read_form,
    write_rule,
)
from dunwell.interfaces.portal.rules.views import RulePage
from dunwell.interfaces.portal.web.access import Access
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.site import Site
from dunwell.interfaces.portal.web.visit import Fields, Visit
from dunwell.platform.errors import Fault, NotFound, ValidationError

_MORE = {"more_fields": {"fields": 4}, "more_shares": {"shares": 2}}


@at_merchant
async def show_rule(site: Site, visit: Visit, access: Access) -> Response:
    """Without a name: a new one."""
    check_may(access)
    name, language = visit.ask("name"), site.frame(visit, access).language
    async with site.work(access) as work:
        view = await read_rules(work)
    rule = _find_written(view, name)
    if name and rule is None:
        raise NotFound("There is no such rule.")
    typed = fill_form(rule, access.merchant.configuration.currency, language)
    return site.answer_at(visit, access, _make_page(access, view, name, typed))


@takes_form_at_merchant
async def take_rule(site: Site, visit: Visit, access: Access, fields: Fields) -> Response:
    check_may(access)
    typed, name, wish = read_form(fields), fields["known_name"], fields["do"]
    seen, language = fields["known_rule"], site.frame(visit, access).language
    currency = access.merchant.configuration.currency
    async with site.work(access) as work:
        view = await read_rules(work)
        written = write_rule(typed, _find_written(view, name), currency, language)
        checked = await check_rule(work, written, name or None)
        marks = await _find_marks(work, checked)
    faults = [*find_form_faults(typed), *_list_faults(checked.faults)]
    if wish in _MORE:
        page = _make_page(access, view, name, make_room(typed, **_MORE[wish]), seen=seen)
        return site.answer_at(visit, access, page)
    if wish != "check" and not faults and checked.rule is not None:
        try:
            async with site.work(access) as work:
                await edit_rules_draft(work, PutRule(checked.rule, name or None, seen))
        except RuleOvertaken as overtaken:
            return await _answer_overtaken(
                site, visit, access=access, typed=typed, overtaken=overtaken
            )
        except ValidationError as refusal:
            faults = _list_faults(refusal.faults)
        else:
            return site.redirect(visit, access, "rules", done="rule")
    page = _make_page(access, view, name, make_room(typed), seen=seen)
    page = msgspec.structs.replace(page, faults=faults, marks=marks, is_checked=True)
    return site.answer_at(visit, access, page, 200 if wish == "check" else 422)


async def _answer_overtaken(
    site: Site, visit: Visit, access: Access, typed: TypedRule, overtaken: RuleOvertaken
) -> Response:
    """Both are shown; saving once more means it. A rule that is gone is made anew by it."""
    async with site.work(access) as work:
        view = await read_rules(work)
        writers = await name_writers(work, view.changes)
    standing = overtaken.standing
    page = _make_page(access, view, standing.name if standing else "", make_room(typed))
    page = msgspec.structs.replace(
        page,
        is_overtaken=True,
        standing=standing,
        last=view.changes[-1] if view.changes else None,
        writers=writers,
    )
    return site.answer_at(visit, access, page, 409)


def _make_page(
    access: Access, view: RulesView, name: str, typed: TypedRule, *, seen: str | None = None
) -> RulePage:
    """seen: the fingerprint the form was opened with; none: it is opened now."""
    rule = find_rule(view.edited, name) if name else None
    fresh = make_fingerprint(rule) if rule else ""
    return RulePage(
        known_name=name,
        known_rule=fresh if seen is None else seen,
        typed=typed,
        choices=list_choices(view),
        currency=access.merchant.configuration.currency,
    )


def _find_written(view: RulesView, name: str) -> RuleDocument | None:
    document = write_rules(view.edited, view.names)
    return next((rule for rule in document.rules if rule.name == name), None)


def _list_faults(faults: Sequence[Fault]) -> list[FormFault]:
    return [(find_field(each.path), each.code, each.message) for each in faults]


async def _find_marks(work: Work, checked: CheckedRule) -> Marks:
    """Of a rule that has no faults, beside those of the draft."""
    work.need(Right.READ_CLAIMS)
    if checked.rule is None or checked.beside is None:
        return Marks()
    rulebook = await make_rulebook(work.tx, work.merchant, checked.beside, None)
    return find_marks(rulebook, checked.rule, checked.overlaps)


PAGES: RoutedPages = {"rule": {"GET": show_rule, "POST": take_rule}}
