"""The form that creates or changes one rule, and checks it while it is edited."""

from collections.abc import Sequence
from typing import Any

import msgspec
from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.edit_rules import (
    CheckedRule,
    PutRule,
    check_rule,
    edit_rules_draft,
    find_rule,
)
from dunwell.cases.assignment.rulebook import load_rulebook_of_rules
from dunwell.cases.assignment.rules import RuleDocument, build_document
from dunwell.cases.assignment.rules_views import RulesView, get_rules
from dunwell.interfaces.portal.rules.views import (
    RulePage,
    RuleWarnings,
    build_rule_warnings,
    check_page_access,
    list_author_names,
    list_workflow_choices,
)
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.condition_form import (
    CONDITION_FIELDS,
    build_condition,
    build_field_values,
    count_extra_rows,
)
from dunwell.interfaces.web.forms import (
    AmountFormat,
    Field,
    FieldFaults,
    FieldKind,
    Form,
    FormContent,
    FormFields,
    build_form,
    parse_number,
)
from dunwell.platform.errors import EditConflict, Fault, NotFound, ValidationError
from dunwell.platform.text.differences import compute_revision

_FIELDS = (
    Field("name"),
    Field("active", FieldKind.FLAG),
    *CONDITION_FIELDS,
    Field("target", FieldKind.PAIRS),
)


def open_rule_form(rule: RuleDocument | None, amounts: AmountFormat) -> Form:
    """Return the form of a rule, or of a new rule for None."""
    if rule is None:
        return build_form(_FIELDS, {"active": True}, amounts)
    given = msgspec.to_builtins(rule)
    given["when"] = build_field_values(given["when"])
    if isinstance(rule.target, str):
        given["target"] = [(rule.target, "")]
    else:
        given["target"] = [(each.workflow, str(each.percent)) for each in rule.target]
    return build_form(_FIELDS, given, amounts)


def build_rule(content: FormContent, stored: RuleDocument | None) -> dict[str, Any]:
    """Return the rule that a form describes, in the notation of files, to be checked by
    `check_rule`. `stored` is the rule that was opened in the form; its notation is kept where the
    values are the same."""
    given = msgspec.to_builtins(stored) if stored else {}
    when = build_condition(content, given.get("when"))
    rule = {"name": "", **content.parts}
    rule["target"] = _build_target(rule["target"], is_list=isinstance(given.get("target"), list))
    rule.pop("when", None)
    return {**rule, "when": when} if when else rule


def locate_rule_faults(form: Form, faults: Sequence[Fault]) -> FieldFaults:
    """Return the faults with the names of their fields; a fault of a share belongs to the field of
    its row."""
    return [
        (_get_share_field(fault.path) or name, fault) for name, fault in form.locate_faults(faults)
    ]


def _get_share_field(pointer: str) -> str:
    """Return the field for a fault of a share or of the whole rule, or "" for any other fault."""
    _, first, *rest = [*pointer.split("/"), "", ""]
    if first != "target":
        return "" if pointer else "name"
    return f"target.{'value' if rest[1:2] == ['percent'] else 'name'}.{rest[0] or 0}"


def _build_target(pairs: Sequence[tuple[str, str]], *, is_list: bool) -> str | list[dict[str, Any]]:
    """Return the target in the shortest notation: the name alone for one workflow, unless it was
    stored as a list with a share of 100 percent."""
    if len(pairs) == 1 and (
        not pairs[0][1].strip() or (pairs[0][1].strip() == "100" and not is_list)
    ):
        return pairs[0][0]
    return [{"workflow": name, "percent": _parse_percent(text.strip())} for name, text in pairs]


def _parse_percent(text: str) -> int | str:
    """Return the number, or the text as it is, so that the check reports it."""
    number = parse_number(text)
    return text if isinstance(number, Fault) else number


# Buttons that show the form again with more empty rows.
_MORE_ROWS = ("more_fields", "more_shares")


@at_merchant
async def get_rule_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Return the form of the rule that the query names, or of a new rule."""
    check_page_access(access)
    name = request.get_parameter("name")
    async with site.open_work(access) as work:
        view = await get_rules(work)
    rule = _find_rule_document(view, name)
    if name and rule is None:
        raise NotFound("There is no such rule.")
    form = open_rule_form(rule, _get_amount_format(site, request, access))
    return site.render_merchant_page(request, access, _build_page(view, name, form))


@takes_form_at_merchant
async def submit_rule(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    check_page_access(access)
    name, action, known_revision = fields["known_name"], fields["do"], fields["revision"]
    async with site.open_work(access) as work:
        view = await get_rules(work)
        stored = _find_rule_document(view, name)
        form = open_rule_form(stored, _get_amount_format(site, request, access)).with_sent_fields(
            fields
        )
        content = form.parse_content()
        checked = await check_rule(work, build_rule(content, stored), name or None)
        warnings = await _load_rule_warnings(work, checked)
    faults = content.combine_faults(locate_rule_faults(form, checked.faults))
    if action in _MORE_ROWS:
        page = _build_page(view, name, form, known_revision=known_revision, action=action)
        return site.render_merchant_page(request, access, page)
    if action != "check" and not faults and checked.rule is not None:
        try:
            async with site.open_work(access) as work:
                await edit_rules_draft(work, PutRule(checked.rule, name or None, known_revision))
        except EditConflict as conflict:
            return await _render_conflict_page(
                site, request, access=access, form=form, current=conflict.current
            )
        except ValidationError as refusal:
            faults = locate_rule_faults(form, refusal.faults)
        else:
            return site.redirect(request, access, "rules", done="rule")
    page = _build_page(view, name, form, known_revision=known_revision)
    page = msgspec.structs.replace(page, faults=faults, warnings=warnings, is_checked=True)
    return site.render_merchant_page(request, access, page, 200 if action == "check" else 422)


async def _render_conflict_page(
    site: PortalSite,
    request: PortalRequest,
    access: MerchantAccess,
    form: Form,
    current: RuleDocument | None,
) -> Response:
    """Show both versions of the rule. Saving again overwrites the other user's version, or restores
    a rule that the other user removed."""
    async with site.open_work(access) as work:
        view = await get_rules(work)
        author_names = await list_author_names(work, view.changes)
    page = _build_page(view, current.name if current else "", form)
    page = msgspec.structs.replace(
        page,
        is_conflict=True,
        current_rule=current,
        last_change=view.changes[-1] if view.changes else None,
        author_names=author_names,
    )
    return site.render_merchant_page(request, access, page, 409)


def _get_amount_format(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> AmountFormat:
    language = site.build_context(request, access).language
    return AmountFormat(access.merchant.configuration.currency, language)


def _build_page(
    view: RulesView, name: str, form: Form, *, known_revision: str | None = None, action: str = ""
) -> RulePage:
    """Build the page of the form. `known_revision` is the revision on which the form was opened,
    None if it is opened now. `action` is the name of the button that was pressed."""
    rule = find_rule(view.edited, name) if name else None
    current_revision = compute_revision(rule) if rule else ""
    shares = len(form.typed["target.name"]) + (2 if action == "more_shares" else 0)
    return RulePage(
        known_name=name,
        revision=current_revision if known_revision is None else known_revision,
        form=form,
        extra_rows=count_extra_rows(action),
        shares=max(shares, 2),
        choices=list_workflow_choices(view),
        currency=form.amounts.currency,
    )


def _find_rule_document(view: RulesView, name: str) -> RuleDocument | None:
    document = build_document(view.edited, view.names)
    return next((rule for rule in document.rules if rule.name == name), None)


async def _load_rule_warnings(work: Work, checked: CheckedRule) -> RuleWarnings:
    """Return the warnings of a rule without faults, compared with the other rules of the draft."""
    work.require(Right.READ_CLAIMS)
    if checked.rule is None or checked.draft_rules is None:
        return RuleWarnings()
    rulebook = await load_rulebook_of_rules(work.tx, work.merchant, checked.draft_rules, None)
    return build_rule_warnings(rulebook, checked.rule, checked.overlaps)


PAGES: RoutedPages = {"rule": {"GET": get_rule_page, "POST": submit_rule}}
