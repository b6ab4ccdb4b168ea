"""Applying a merchant file creates and changes only what differs; a plan changes nothing."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from dunwell.accounts.merchants.credentials.store import find_merchant_id_by_key
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import load_merchant
from dunwell.operations.merchant_file.apply_file import apply_file, plan_file
from dunwell.operations.merchant_file.changes import ApplyReport
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.support.definitions import a_document
from tests.support.harness import Harness

FILE: dict[str, Any] = {
    "key": "nordwind",
    "name": "Nordwind",
    "language": "de",
    "timezone": "Europe/Berlin",
    "currency": "EUR",
    "legal": {
        "name": "Nordwind GmbH",
        "address": "Deichstraße 1\n20459 Hamburg",
        "vatId": "DE1",
        "register": "Amtsgericht Hamburg, HRB 1",
        "representatives": ["Ina Brandt"],
    },
    "privacy": {
        "authority": "Datenschutzbehörde, 20459 Hamburg",
        "basis": ["CONTRACT", "LEGAL_OBLIGATION"],
        "retention": {"claimYears": 3, "recordYears": 8},
    },
    "contact": {"email": "hilfe@nordwind.example"},
    "payment": {"bankAccount": {"iban": "DE02 1203 0000 0000 2020 51", "holder": "Nordwind"}},
    "channels": {"EMAIL": {"adapter": "outbox", "from": "claims@nordwind.example"}},
    "webhooks": [
        {"url": "https://erp.example/hooks", "events": ["*"], "authorization": "Bearer x"}
    ],
    "credentials": [{"name": "erp"}],
    "workflows": [{"name": "Standard", "definition": a_document()}],
    "assignmentRules": {"default": "Standard", "rules": []},
}
ADAPTERS = {"EMAIL": ["outbox", "smtp"], "SMS": ["outbox"], "LETTER": ["outbox"]}
PROVIDERS = ["bank", "sandbox"]
TABLES = (
    "merchants", "credentials", "credential_secrets", "webhook_endpoints", "workflows",
    "workflow_versions", "assignment_rules", "audit_log",
)  # fmt: skip


class Applying:
    """Applies a changing file to one installation."""

    def __init__(self, resources: Resources, folder: Path) -> None:
        self.resources = resources
        self.path = folder / "merchant.yaml"
        self.document: dict[str, Any] = yaml.safe_load(yaml.safe_dump(FILE))

    async def apply(self, **options: bool) -> ApplyReport:
        self.path.write_text(yaml.safe_dump(self.document, allow_unicode=True))
        return await apply_file(
            self.resources, self.path, available_adapters=ADAPTERS,
            available_providers=PROVIDERS, **options,
        )  # fmt: skip

    async def plan(self, *, publish: bool = False) -> ApplyReport:
        self.path.write_text(yaml.safe_dump(self.document, allow_unicode=True))
        return await plan_file(
            self.resources, self.path, publish=publish, available_adapters=ADAPTERS,
            available_providers=PROVIDERS,
        )  # fmt: skip

    async def merchant(self) -> Merchant:
        async with self.resources.database.connection() as connection:
            merchant_id = await find_merchant_id_by_key(connection, "nordwind")
            assert merchant_id is not None
            merchant = await load_merchant(connection, merchant_id)
            assert merchant is not None
            return merchant

    async def rows(self) -> dict[str, list[Any]]:
        """Return every row that a merchant file can change."""
        async with self.resources.database.connection() as connection:
            return {
                table: await connection.fetch(f"SELECT * FROM {table} ORDER BY 1, 2")
                for table in TABLES
            }

    @property
    def definition(self) -> dict[str, Any]:
        definition: dict[str, Any] = self.document["workflows"][0]["definition"]
        return definition


@pytest.fixture
def applying(resources: Resources, tmp_path: Path) -> Applying:
    return Applying(resources, tmp_path)


async def test_a_new_merchant_is_created_with_its_secrets(applying: Applying) -> None:
    report = await applying.apply()
    merchant = await applying.merchant()
    assert (report.merchant_id, report.key) == (merchant.merchant_id, "nordwind")
    assert report.changes == [
        'merchant "nordwind" created',
        'credential "erp" created',
        "webhook https://erp.example/hooks added: *",
        'workflow "Standard" published as v1.0',
        'default workflow "Standard"; new claims get it',
    ]
    [credential], [webhook] = report.credentials, report.webhooks
    assert (credential.name, webhook.url) == ("erp", "https://erp.example/hooks")
    assert webhook.secret.startswith("whsec_")
    keys = {"merchantId", "key", "changes", "credentials", "webhooks"}
    # The usual definition waits a week after its only contact.
    assert set(report.as_json()) == {*keys, "warnings"}
    assert set(report.as_json()["credentials"][0]) == {"name", "clientId", "clientSecret"}


async def test_the_content_of_the_file_is_stored(applying: Applying) -> None:
    applying.document |= {"sandbox": True}
    await applying.apply()
    merchant = await applying.merchant()
    assert merchant.is_sandbox
    assert merchant.switched_to_workflows
    configuration = merchant.configuration
    assert configuration.legal is not None
    assert configuration.legal.vat_id == "DE1"
    assert configuration.payment.bank_account is not None
    assert configuration.payment.bank_account.iban == "DE02120300000000202051"
    assert configuration.channels["EMAIL"].sender == "claims@nordwind.example"


async def test_the_same_file_twice_changes_nothing(applying: Applying) -> None:
    await applying.apply()
    before = await applying.rows()
    report = await applying.apply(publish=True)
    assert report.changes == []
    assert (report.credentials, report.webhooks) == ([], [])
    assert await applying.rows() == before


async def test_a_plan_lists_all_changes_and_makes_none(applying: Applying) -> None:
    before = await applying.rows()
    plan = await applying.plan()
    assert (plan.merchant_id, plan.credentials, plan.webhooks) == (None, [], [])
    assert await applying.rows() == before
    expected = [line.replace("would be published", "published") for line in plan.changes]
    assert expected == (await applying.apply()).changes


async def test_only_differences_are_applied_and_reported(applying: Applying) -> None:
    await applying.apply()
    applying.document["language"] = "en"
    applying.document["contact"]["phone"] = "+49 40 1"
    del applying.document["legal"]
    report = await applying.apply()
    assert report.changes == [
        'language changed: "de" -> "en"',
        'contact.phone added: "+49 40 1"',
    ]
    merchant = await applying.merchant()
    assert merchant.configuration.language == "en"
    assert merchant.configuration.legal is not None


async def test_absent_keys_change_nothing(applying: Applying) -> None:
    await applying.apply()
    before = await applying.rows()
    required = ("key", "name", "language", "timezone")
    applying.document = {name: FILE[name] for name in required}
    assert (await applying.apply()).changes == []
    assert await applying.rows() == before


async def test_only_the_list_of_webhooks_is_complete(
    applying: Applying,
) -> None:
    await applying.apply()
    applying.document |= {
        "webhooks": [{"url": "https://new.example/", "events": ["ARCHIVED", "ESCALATED"]}],
        "credentials": [],
        "workflows": [],
    }
    report = await applying.apply()
    assert report.changes == [
        "webhook https://erp.example/hooks removed",
        "webhook https://new.example/ added: ESCALATED, ARCHIVED",
    ]
    assert [webhook.url for webhook in report.webhooks] == ["https://new.example/"]


async def test_a_webhook_keeps_its_secret_when_its_types_change(applying: Applying) -> None:
    await applying.apply()
    [before] = (await applying.rows())["webhook_endpoints"]
    applying.document["webhooks"][0] |= {"events": ["ARCHIVED"], "authorization": "Bearer y"}
    report = await applying.apply()
    assert report.changes == [
        'webhook https://erp.example/hooks events changed: ["*"] -> ["ARCHIVED"]',
        "webhook https://erp.example/hooks authorization changed",
    ]
    [after] = (await applying.rows())["webhook_endpoints"]
    assert after["secret_sealed"] == before["secret_sealed"]
    assert after["types"] == ["ARCHIVED"]


async def test_each_change_has_an_audit_entry(applying: Applying) -> None:
    await applying.apply()
    audited = (await applying.rows())["audit_log"]
    assert sorted(row["action"] for row in audited) == [
        "assignment_rules.publish", "assignment_rules.save_draft", "credential.create",
        "endpoint.add", "merchant.create",
        "workflow.publish", "workflow.save_draft",
    ]  # fmt: skip
    assert {row["actor_kind"] for row in audited} == {"OPERATOR"}


async def test_a_changed_definition_becomes_a_draft_once(applying: Applying) -> None:
    await applying.apply()
    applying.definition["steps"][1]["days"] = 8
    report = await applying.apply()
    first = (
        'workflow "Standard" saved as draft; --publish makes it v2.0 (major):'
        " 0 claims in process move to it, 0 claims stay on their current version"
    )
    assert report.changes == [
        first,
        'workflow "Standard": step 2.days changed: 7 -> 8',
    ]
    assert (await applying.apply()).changes == []
    states = [row["state"] for row in (await applying.rows())["workflow_versions"]]
    assert sorted(states) == ["DRAFT", "PUBLISHED"]


async def test_publishing_reports_the_running_claims_that_it_reaches(
    applying: Applying, clock: MovableClock
) -> None:
    await applying.apply()
    harness = Harness(applying.resources, clock, await applying.merchant(), [])
    await harness.create("A", "B")
    applying.definition["steps"][2]["value"] = "300"
    plan = await applying.plan(publish=True)
    reach = " 2 claims in process move to it, 0 claims stay on their current version"
    assert plan.changes[0] == f'workflow "Standard" would be published as v1.1 (minor):{reach}'
    applied = (await applying.apply(publish=True)).changes
    assert applied == [
        f'workflow "Standard" published as v1.1 (minor):{reach}', *plan.changes[1:-1],
    ]  # fmt: skip
    applying.definition["steps"][1]["days"] = 8
    assert (await applying.apply(publish=True)).changes[0] == (
        'workflow "Standard" published as v2.0 (major):'
        " 0 claims in process move to it, 2 claims stay on their current version"
    )


async def test_a_draft_is_published_later_or_discarded_when_its_change_is_reverted(
    applying: Applying,
) -> None:
    await applying.apply()
    applying.definition["steps"][1]["days"] = 8
    await applying.apply()
    published = await applying.apply(publish=True)
    assert published.changes[0].startswith('workflow "Standard" published as v2.0 (major)')
    applying.definition["steps"][1]["days"] = 9
    await applying.apply()
    applying.definition["steps"][1]["days"] = 8
    assert (await applying.apply()).changes == [
        'workflow "Standard": draft discarded; the file equals v2.0'
    ]


async def test_a_definition_can_be_in_its_own_file(applying: Applying) -> None:
    definition_path = applying.path.parent / "standard.yaml"
    definition_path.write_text(yaml.safe_dump(a_document(), allow_unicode=True))
    await applying.apply()
    applying.document["workflows"] = [{"name": "Standard", "file": "standard.yaml"}]
    assert (await applying.apply()).changes == []


async def test_a_refused_file_changes_nothing(applying: Applying) -> None:
    await applying.apply()
    before = await applying.rows()
    applying.document["name"] = "Another"
    applying.document["assignmentRules"]["default"] = "Nobody"
    with pytest.raises(ValidationError) as refusal:
        await applying.apply()
    assert [fault.path for fault in refusal.value.faults] == ["/assignmentRules/default"]
    assert await applying.rows() == before


async def test_a_plan_shows_how_next_contacts_change(
    applying: Applying, clock: MovableClock
) -> None:
    await applying.apply()
    harness = Harness(applying.resources, clock, await applying.merchant(), [])
    await harness.create("A", "B")
    clock.move_to(clock.now() + timedelta(hours=10))
    applying.definition["steps"][0]["send"] = "IMMEDIATE"
    before = await applying.rows()
    plan = await applying.plan()
    first = (
        'workflow "Standard" would be saved as draft; --publish makes it v1.1 (minor):'
        " 2 claims in process move to it, 0 claims stay on their current version"
    )
    assert plan.changes == [
        first,
        'workflow "Standard": step 1.send changed: "CONTACT_HOURS" -> "IMMEDIATE"',
        'workflow "Standard": next contacts of 2 claims: 2 changed (time 2)',
    ]
    [preview] = plan.as_json()["previews"]
    assert (preview["before"], preview["after"], preview["verdict"]) == ("v1.0", "v1.1", "MINOR")
    assert (preview["claimsReached"], preview["claimsStaying"]) == (2, 0)
    assert preview["nextContacts"]["kinds"]["CHANGED"] == 2
    assert [each["referenceNumber"] for each in preview["nextContacts"]["listed"]] == ["A", "B"]
    assert await applying.rows() == before


async def test_a_plan_of_a_major_version_shows_unchanged_contacts(
    applying: Applying, clock: MovableClock
) -> None:
    await applying.apply()
    await Harness(applying.resources, clock, await applying.merchant(), []).create("A")
    applying.definition["steps"][1]["days"] = 8
    plan = await applying.plan(publish=True)
    assert len(plan.changes) == 2
    [preview] = plan.as_json()["previews"]
    assert (preview["verdict"], preview["claimsReached"], preview["claimsStaying"]) == (
        "MAJOR", 0, 1,
    )  # fmt: skip
