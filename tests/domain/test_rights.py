"""Rights, and that every use case checks one."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from dunwell.accounts.merchants import audit_log as list_audit
from dunwell.accounts.merchants import set_up_merchant
from dunwell.accounts.merchants.account import Work, check_right
from dunwell.accounts.merchants.actor import (
    COMMAND_LINE,
    SYSTEM,
    Actor,
    ActorKind,
    Interface,
    Origin,
    build_credential_actor,
    build_debtor_actor,
    build_user_actor,
)
from dunwell.accounts.merchants.credentials import credentials, tokens
from dunwell.accounts.merchants.rights import (
    ALL_RIGHTS,
    RIGHT_WORDS,
    ROLE_RIGHTS,
    SCOPE_RIGHTS,
    Right,
    Role,
    Scope,
    order_scopes,
    rights_of_scopes,
)
from dunwell.cases.assignment import rules_draft
from dunwell.cases.disputes import answer_dispute
from dunwell.cases.modalities import answer_modality
from dunwell.cases.payments import change_items, record_payment, reversals, review_money
from dunwell.cases.payments.refunds import refund_payment
from dunwell.cases.rollout import delete_workflow, publish_workflow
from dunwell.cases.rollout.scenarios import save_scenario, switch_to_workflows
from dunwell.contact.escalation.contacts.outcomes import record_outcomes
from dunwell.contact.messages import suppression
from dunwell.core.events.deliveries import replay
from dunwell.core.events.webhooks import endpoints
from dunwell.core.workflows import change_workflow
from dunwell.core.workflows.drafts import edit_draft as save_draft
from dunwell.core.workflows.drafts import publish_draft
from dunwell.operations.sandbox import advance_clock
from dunwell.platform.errors import InsufficientScope
from dunwell.platform.http.addresses import render_network
from tests.support.use_cases import (
    ASK_NOTHING,
    UseCase,
    call_with_nothing,
    find_use_cases,
    name_function,
)

_ASKING = [each for each in find_use_cases() if each.right is not None]
# Use cases with more serious effects than reading and changing claims; others may be added.
_ASKED_BY: Mapping[Right, set[Callable[..., object]]] = {
    Right.RECORD_MONEY: {
        change_items.add_fee, change_items.add_item,
        change_items.delete_item, record_payment.record_payment,
        reversals.reverse_payment, refund_payment.order_refund,
        review_money.review_movement, review_money.review_refund,
    },
    Right.ANSWER: {
        answer_dispute.resolve_dispute,
        answer_modality.approve_modality,
        answer_modality.reject_modality,
    },
    Right.CONTACT_SETTINGS: {
        record_outcomes.resolve_unknown_contact,
        suppression.lift_suppression,
        suppression.suppress,
    },
    Right.CONFIGURE: {
        endpoints.add_endpoint, endpoints.change_endpoint,
        endpoints.remove_endpoint, endpoints.rotate_secret,
        credentials.allow_credential,
        credentials.create_credential,
        credentials.disallow_credential,
        credentials.end_old_secret,
        credentials.list_credentials,
        credentials.revoke_credential,
        credentials.rotate_credential,
        set_up_merchant.change_configuration,
        set_up_merchant.create_merchant,
        tokens.revoke_token,
        rules_draft.save_rules_draft,
        delete_workflow.delete_workflow,
        save_draft.save_draft,
    },
    Right.PUBLISH: {
        rules_draft.publish_rules,
        rules_draft.publish_rules_draft,
        publish_workflow.publish_workflow,
        save_scenario.save_scenario,
        switch_to_workflows.switch_to_workflows,
        change_workflow.activate_workflow,
        change_workflow.deactivate_workflow,
        publish_draft.publish_draft,
    },
    Right.AUDIT: {
        list_audit.list_audit,
        list_audit.list_installation_audit,
    },
    Right.OPERATE: {
        replay.replay_events, advance_clock.advance_clock,
    },
}  # fmt: skip
_MERCHANTS = {Right.READ_CLAIMS, Right.CHANGE_CLAIMS, Right.RECORD_MONEY, Right.ANSWER}


def test_every_use_case_begins_by_checking_a_right() -> None:
    silent = {each.name for each in find_use_cases() if each.right is None}
    assert silent == set(ASK_NOTHING)


@pytest.mark.parametrize("right", _ASKED_BY)
def test_critical_use_cases_check_their_own_right(right: Right) -> None:
    asking = {each.name for each in _ASKING if each.right == right.name}
    assert set(map(name_function, _ASKED_BY[right])) <= asking


def test_every_checked_right_exists() -> None:
    asked = {each.right for each in find_use_cases() if each.right is not None}
    assert asked <= {right.name for right in Right}
    assert len(asked) >= 8


def test_roles_have_the_documented_rights() -> None:
    assert dict(ROLE_RIGHTS) == {
        Role.ADMIN: ALL_RIGHTS,
        Role.OPERATOR: ALL_RIGHTS - {Right.PEOPLE},
        Role.AUDITOR: {Right.READ_CLAIMS, Right.AUDIT},
        Role.MERCHANT_USER: _MERCHANTS,
    }


def test_scopes_have_the_documented_rights() -> None:
    assert dict(SCOPE_RIGHTS) == {
        Scope.READ: {Right.READ_CLAIMS},
        Scope.CLAIMS: {Right.READ_CLAIMS, Right.CHANGE_CLAIMS, Right.ANSWER},
        Scope.MONEY: {Right.READ_CLAIMS, Right.RECORD_MONEY},
        Scope.ALL: ALL_RIGHTS - {Right.PEOPLE},
    }
    assert rights_of_scopes(("CLAIMS", "MONEY")) == _MERCHANTS
    assert rights_of_scopes(()) == frozenset()


def test_the_scope_all_includes_the_others_and_scopes_are_unique() -> None:
    assert order_scopes([Scope.MONEY, Scope.READ, Scope.MONEY]) == (Scope.READ, Scope.MONEY)
    assert order_scopes([Scope.MONEY, Scope.ALL]) == (Scope.ALL,)


def test_neither_debtors_nor_workers_configure_publish_or_read_the_audit_log() -> None:
    withheld = {Right.CONFIGURE, Right.PUBLISH, Right.PEOPLE, Right.AUDIT}
    debtor = build_debtor_actor("session-1")
    assert not withheld & SYSTEM.rights
    assert not (withheld | {Right.RECORD_MONEY, Right.ANSWER, Right.OPERATE}) & debtor.rights
    assert COMMAND_LINE.rights == ALL_RIGHTS


def test_an_actor_without_rights_may_do_nothing() -> None:
    without_rights = Actor(ActorKind.USER, "somebody")
    for right in Right:
        with pytest.raises(InsufficientScope):
            check_right(without_rights, right)


@pytest.mark.parametrize("right", Right)
def test_a_refusal_names_and_describes_the_right(right: Right) -> None:
    rest = build_credential_actor("shop", ALL_RIGHTS - {right})
    with pytest.raises(InsufficientScope) as refused:
        check_right(rest, right)
    assert refused.value.details == {"right": right.value}
    assert f"the permission to {RIGHT_WORDS[right]} ({right})" in refused.value.message
    for other in ALL_RIGHTS - {right}:
        check_right(rest, other)


def test_an_origin_contains_only_known_facts() -> None:
    origin = Origin(Interface.PORTAL, "192.0.2.0/24", "s-1")
    user = build_user_actor("u-1", ROLE_RIGHTS[Role.AUDITOR], origin)
    assert user.origin_json == {"face": "PORTAL", "network": "192.0.2.0/24", "session": "s-1"}
    assert SYSTEM.origin_json == {"face": "WORKER"}
    assert Actor(ActorKind.USER).origin_json is None


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("192.0.2.77", "192.0.2.0/24"),
        ("::ffff:192.0.2.77", "192.0.2.0/24"),
        ("2001:db8:1:2:3::4", "2001:db8:1::/48"),
        ("testclient", None),
    ],
)
def test_a_recorded_network_does_not_identify_a_visitor(host: str, network: str | None) -> None:
    assert render_network(host) == network


@pytest.mark.parametrize("use_case", _ASKING, ids=lambda each: each.name)
async def test_a_use_case_without_its_right_is_refused_before_anything_is_done(
    use_case: UseCase,
) -> None:
    """All other arguments are None, so that the use case would fail if it used them."""
    assert use_case.right is not None
    actor = build_credential_actor("shop", ALL_RIGHTS - {Right[use_case.right]})
    nothing: Any = None
    work = Work(nothing, nothing, actor, nothing, nothing, nothing)
    with pytest.raises(InsufficientScope) as refused:
        await call_with_nothing(use_case, work)
    assert refused.value.details == {"right": use_case.right}
