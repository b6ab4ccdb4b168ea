"""A live merchant created from its sandbox starts with the sandbox's workflows, templates and
rules; and the first admin of an empty installation is invited to create the first merchant."""

from typing import Any

import msgspec
import pytest

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.cases.assignment.rules import RuleDocument, RulesDocument
from dunwell.cases.assignment.rules_draft import publish_rules_draft, save_rules_draft
from dunwell.cases.assignment.store import find_published_rules, find_rules_draft, load_targets
from dunwell.cases.disputes.response_templates import add_response_template
from dunwell.core.workflows.change_workflow import deactivate_workflow
from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.core.workflows.store import load_current, load_draft, load_workflows
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support import users
from tests.support.application import an_application, connect
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness
from tests.support.portal import COOKIE, Clerk, read_fields


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    """A sandbox with three workflows, rules, drafts of both, a claim and a response template."""
    harness = await a_harness(resources, clock, key="nord-sandbox", sandbox=True)
    await harness.publish(a_definition(), "Friendly")
    strict = await harness.publish(a_definition(), "Strict")
    await harness.create("INV-1")
    async with harness.work() as work:
        await save_draft(work, "Friendly", _change_name(a_definition(), "Now friendlier"))
        await save_draft(work, "Only a draft", a_definition())
        rule = RuleDocument(name="All of them", target="Strict")
        await save_rules_draft(work, RulesDocument(default="Friendly", rules=[rule]))
        await publish_rules_draft(work)
        await save_rules_draft(work, RulesDocument(default="Strict", rules=[]))
        await deactivate_workflow(work, strict.workflow_id)
        await add_response_template(work, "Thanks", "Thank you for your message.")
    return harness


def _change_name(definition: Any, name: str) -> Any:
    first = msgspec.structs.replace(definition.steps[0], name=name)
    return msgspec.structs.replace(definition, steps=[first, *definition.steps[1:]])


async def read_processes(resources: Resources, merchant_id: int) -> dict[str, Any]:
    """Return a merchant's workflows and rules, with names instead of ids."""
    async with resources.database.connection() as connection:
        workflows = await load_workflows(connection, merchant_id)
        targets = await load_targets(connection, merchant_id)
        names = {each: row.name for each, row in targets.items()}
        found: dict[str, Any] = {}
        for each in workflows:
            current = await load_current(connection, merchant_id, each.workflow_id)
            draft = await load_draft(connection, merchant_id, each.workflow_id)
            found[each.name] = (
                current and current.definition, draft and draft.definition,
                each.assignment_enabled,
            )  # fmt: skip
        ruling = await find_published_rules(connection, merchant_id)
        rules_draft = await find_rules_draft(connection, merchant_id)
    assert ruling is not None
    assert rules_draft is not None
    found["rules"] = (
        ruling.rules.default and names[ruling.rules.default],
        [(rule.name, names[rule.target]) for rule in ruling.rules.rules],  # type: ignore[index]
        rules_draft.rules.default and names[rules_draft.rules.default],
    )
    return found


async def go_live(clerk: Clerk, resources: Resources, sandbox_id: int, **typed: Any) -> int:
    path = f"/portal/merchants/new?counterpart={sandbox_id}"
    fields = {**read_fields((await clerk.get(path)).text), **typed}
    answer = await clerk.post("/portal/merchants/new", fields)
    assert answer.status_code == 303, answer.text
    async with resources.database.connection() as connection:
        merchant_id: int = await connection.fetchval(
            "SELECT merchant_id FROM merchants WHERE key = $1", fields["key"]
        )
    return merchant_id


async def test_a_live_merchant_gets_the_workflows_rules_and_templates_of_its_sandbox(
    clerk: Clerk, harness: Harness, resources: Resources
) -> None:
    sandbox_id = harness.merchant.merchant_id
    live_id = await go_live(clerk, resources, sandbox_id)
    assert await read_processes(resources, live_id) == await read_processes(resources, sandbox_id)
    async with resources.database.connection() as connection:
        texts = await connection.fetch(
            "SELECT name, text FROM response_templates WHERE merchant_id = $1", live_id
        )
        for table in ("claims", "debtors", "credentials", "webhook_endpoints"):
            statement = f"SELECT count(*) FROM {table} WHERE merchant_id = $1"
            assert await connection.fetchval(statement, live_id) == 0, table
    assert [tuple(each) for each in texts] == [("Thanks", "Thank you for your message.")]


async def test_a_second_sandbox_of_a_live_merchant_starts_empty(
    clerk: Clerk, harness: Harness, resources: Resources
) -> None:
    other = await go_live(clerk, resources, harness.merchant.merchant_id, kind="sandbox", key="two")
    async with resources.database.connection() as connection:
        assert await load_workflows(connection, other) == []


async def test_no_merchant_is_created_if_a_part_cannot_be_copied(
    clerk: Clerk, harness: Harness, resources: Resources
) -> None:
    """All parts are copied in one transaction, because a merchant without its workflows would
    contact no debtors."""
    await harness.rows(
        "UPDATE workflows SET name = repeat('x', 300) WHERE merchant_id = $1 AND name = 'Strict'"
    )
    path = f"/portal/merchants/new?counterpart={harness.merchant.merchant_id}"
    answer = await clerk.post("/portal/merchants/new", read_fields((await clerk.get(path)).text))
    assert answer.status_code == 422
    async with resources.database.connection() as connection:
        assert await connection.fetchval("SELECT count(*) FROM merchants WHERE key = 'nord'") == 0


@pytest.mark.parametrize(("language", "heading", "button"), [
    ("en", "Create your first merchant", "Create the first merchant"),
    ("de", "Legen Sie Ihren ersten Mandanten an", "Ersten Mandanten anlegen"),
])  # fmt: skip
async def test_the_first_admin_of_an_empty_installation_is_invited_to_create_a_merchant(
    resources: Resources, language: str, heading: str, button: str
) -> None:
    admin = await users.join(users.build_sign_in_services(resources), users.a_new_user())
    http = connect(an_application(resources).app, "203.0.113.7")
    http.cookies.set(COOKIE, admin.session.secret)
    clerk = Clerk(http, 0)
    page = await clerk.follow(await clerk.get("/portal"))
    page = await clerk.get(f"/portal/merchants?lang={language}")
    assert f"<h1>{heading}</h1>" in page.text
    assert f'<a class="button primary" href="/portal/merchants/new">{button}</a>' in page.text
    fields = read_fields((await clerk.get("/portal/merchants/new")).text)
    sent = await clerk.post(
        "/portal/merchants/new", {**fields, "name": "Nordlicht", "key": "nordlicht"}
    )
    assert sent.status_code == 303, sent.text
    assert "Create your first merchant" not in (await clerk.get("/portal/merchants?lang=en")).text


async def test_an_auditor_of_an_empty_installation_is_not_invited_to_create_one(
    resources: Resources,
) -> None:
    new = users.a_new_user(roles=UserRoles(Role.AUDITOR))
    auditor = await users.join(users.build_sign_in_services(resources), new)
    http = connect(an_application(resources).app, "203.0.113.7")
    http.cookies.set(COOKIE, auditor.session.secret)
    page = (await Clerk(http, 0).get("/portal/merchants")).text
    assert "Ask your administrator" in page
    assert "accounts/merchants/new" not in page
