"""A faulty merchant file: every fault at once with its path, and nothing is stored."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from dunwell.operations.merchant_file.apply_file import apply_file
from dunwell.operations.merchant_file.check_file import InstallationLimits, check_merchant_file
from dunwell.operations.merchant_file.read_file import read_merchant_file
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.resources import Resources
from tests.support.definitions import a_document
from tests.usecases.test_apply import ADAPTERS, FILE, PROVIDERS

IBAN = "DE02120300000000202051"
DEBIT = "/payment/directDebit"


def write(folder: Path, document: object) -> Path:
    path = folder / "merchant.yaml"
    path.write_text(yaml.safe_dump(document, allow_unicode=True))
    return path


def faults_of(folder: Path, *, is_development: bool = True, **changes: Any) -> list[Fault]:
    source = read_merchant_file(write(folder, {**FILE, **changes}))
    with pytest.raises(ValidationError) as refusal:
        check_merchant_file(source, InstallationLimits(ADAPTERS, is_development, PROVIDERS))
    return refusal.value.faults


async def test_every_fault_is_reported_at_once_and_nothing_is_stored(
    resources: Resources, tmp_path: Path
) -> None:
    document = {**FILE, "timezone": "Berlin", "webhoks": [], "retentionDays": 90}
    document["workflows"] = [{"name": "A", "definition": {**a_document(), "steps": []}}]
    with pytest.raises(ValidationError) as refusal:
        await apply_file(resources, write(tmp_path, document), available_adapters=ADAPTERS)
    assert {(fault.path, fault.code) for fault in refusal.value.faults} == {
        ("/timezone", "UNKNOWN_TIMEZONE"),
        ("/webhoks", "UNKNOWN_FIELD"),
        ("/retentionDays", "NOT_AVAILABLE"),
        ("/workflows/0/definition/steps", "TOO_FEW"),
    }
    async with resources.database.connection() as connection:
        assert await connection.fetchval("SELECT COUNT(*) FROM merchants") == 0


def webhook(**changes: Any) -> dict[str, Any]:
    return {"webhooks": [{"url": "https://erp.example/", "events": ["*"], **changes}]}


def account(**changes: Any) -> dict[str, Any]:
    return {"payment": {"bankAccount": {"iban": IBAN, "holder": "Nordwind", **changes}}}


def debit(
    creditorId: str = "DE98 ZZZ 09999999999",  # noqa: N803 - the file's key
    leadDays: int = 2, preNotificationDays: int = 14, **changes: Any,  # noqa: N803
) -> dict[str, Any]:  # fmt: skip
    return {
        "payment": {
            "directDebit": {
                "creditorId": creditorId, "leadDays": leadDays,
                "preNotificationDays": preNotificationDays,
                "account": {"iban": IBAN, "holder": "Nordwind", **changes},
            }
        }
    }  # fmt: skip


def email(**changes: Any) -> dict[str, Any]:
    return {"channels": {"EMAIL": {"adapter": "outbox", "from": "a@b.example", **changes}}}


def sms(**changes: Any) -> dict[str, Any]:
    return {"channels": {"SMS": {"adapter": "outbox", **changes}}}


def methods(*providers: str) -> dict[str, Any]:
    return {"payment": {"methods": [{"provider": provider} for provider in providers]}}


@pytest.mark.parametrize(
    ("changes", "path", "code"),
    [
        ({"key": "Nord Wind"}, "/key", "WRONG_FORMAT"),
        ({"language": "deutsch"}, "/language", "UNKNOWN_LANGUAGE"),
        ({"currency": "EURO"}, "/currency", "UNKNOWN_CURRENCY"),
        ({"name": "Nord\x07wind"}, "/name", "CONTROL_CHARACTER"),
        ({"legal": {"name": "Nordwind"}}, "/legal/address", "REQUIRED"),
        ({"contact": {"email": "nobody"}}, "/contact/email", "WRONG_EMAIL"),
        ({"sandbox": "yes"}, "/sandbox", "WRONG_TYPE"),
        (account(iban="DE02120300000000202052"), "/payment/bankAccount/iban", "WRONG_IBAN"),
        (account(bic="X"), "/payment/bankAccount/bic", "WRONG_BIC"),
        ({"payment": {"partial": {}}}, "/payment/partial/min", "REQUIRED"),
        (methods("sandbx"), "/payment/methods/0/provider", "UNKNOWN_PROVIDER"),
        (methods("sandbox", "sandbox"), "/payment/methods/1/provider", "REPEATED"),
        (debit(creditorId="DE97ZZZ09999999999"), f"{DEBIT}/creditorId", "WRONG_CREDITOR_ID"),
        (debit(creditorId="DE98"), f"{DEBIT}/creditorId", "WRONG_CREDITOR_ID"),
        (debit(iban="CH9300762011623852957"), f"{DEBIT}/account/iban", "WRONG_IBAN"),
        (debit(bic="X"), f"{DEBIT}/account/bic", "WRONG_BIC"),
        (debit(holder="東京"), f"{DEBIT}/account/holder", "WRONG_FORMAT"),
        (debit(preNotificationDays=0), f"{DEBIT}/preNotificationDays", "TOO_SMALL"),
        (debit(leadDays=3, preNotificationDays=3), f"{DEBIT}/preNotificationDays", "TOO_SMALL"),
        ({"currency": "USD", **debit()}, DEBIT, "OTHER_CURRENCY"),
        ({"brand": {"color": "teal"}}, "/brand/color", "WRONG_FORMAT"),
        ({"brand": {"logo": 5}}, "/brand/logo", "WRONG_TYPE"),
        ({"brand": {"font": "Arial"}}, "/brand/font", "UNKNOWN_FIELD"),
        ({"landingPage": {"languages": []}}, "/landingPage/languages", "TOO_FEW"),
        ({"landingPage": {"languages": ["de", "fr"]}},
         "/landingPage/languages/1", "UNKNOWN_LANGUAGE"),
        ({"landingPage": {"languages": ["de", "de"]}}, "/landingPage/languages/1", "REPEATED"),
        ({"landingPage": {"verification": {"EMAIL": []}}}, "/landingPage/verification/EMAIL",
         "NOT_ALLOWED"),
        ({"landingPage": {"verification": {"EMAIL": "ANY"}}}, "/landingPage/verification/EMAIL",
         "NOT_ALLOWED"),
        ({"landingPage": {"verification": {"SMS": ["CODE", "NAME"]}}},
         "/landingPage/verification/SMS/1", "UNKNOWN_PROOF"),
        ({"landingPage": {"verification": {"SMS": ["CODE", "CODE"]}}},
         "/landingPage/verification/SMS/1", "REPEATED"),
        ({"landingPage": {"verification": {"FAX": ["CODE"]}}}, "/landingPage/verification/FAX",
         "UNKNOWN_FIELD"),
        ({"landingPage": {"features": ["DOCUMENTS", "CHAT"]}}, "/landingPage/features/1",
         "NOT_ALLOWED"),
        ({"landingPage": {"features": ["DOCUMENTS", "DOCUMENTS"]}}, "/landingPage/features/1",
         "REPEATED"),
        ({"landingPage": {"advice": {"fr": "Conseil"}}}, "/landingPage/advice/fr",
         "UNKNOWN_LANGUAGE"),
        ({"landingPage": {"advice": {"de": " \n "}}}, "/landingPage/advice/de", "WRONG_FORMAT"),
        ({"landingPage": {"advice": {"de": "x" * 501}}}, "/landingPage/advice/de", "TOO_LONG"),
        ({"landingPage": {"advice": "Call us."}}, "/landingPage/advice", "WRONG_TYPE"),
        ({"payment": {"allocation": "LAST"}}, "/payment/allocation", "NOT_ALLOWED"),
        (email(adapter="outbx"), "/channels/EMAIL/adapter", "UNKNOWN_ADAPTER"),
        (email(adapter=None), "/channels/EMAIL/provider", "REQUIRED"),
        (email(provider="post"), "/channels/EMAIL/provider", "REQUIRED"),
        (email(**{"from": "A <a@b.example>"}), "/channels/EMAIL/from", "WRONG_EMAIL"),
        (email(**{"from": None}), "/channels/EMAIL/from", "REQUIRED"),
        ({"channels": {"LETTER": {"adapter": "outbox", "from": "Nordwind"}}},
         "/channels/LETTER/from", "NOT_ALLOWED"),
        (sms(), "/channels/SMS/from", "REQUIRED"),
        (sms(**{"from": "Nordwind Schuhe GmbH"}), "/channels/SMS/from", "WRONG_SENDER"),
        (sms(**{"from": "04912345"}), "/channels/SMS/from", "WRONG_SENDER"),
        # Only the installation file may allow networks.
        ({"webhookNetworks": []}, "/webhookNetworks", "UNKNOWN_FIELD"),
        (webhook(events=["ARCHIVD"]), "/webhooks/0/events/0", "NOT_ALLOWED"),
        (webhook(url="https://10.0.0.1:99999/"), "/webhooks/0/url", "WRONG_FORMAT"),
        ({"webhooks": webhook()["webhooks"] * 2}, "/webhooks/1/url", "REPEATED"),
        ({"credentials": [{"name": "a"}, {"name": "a"}]}, "/credentials/1/name", "REPEATED"),
        ({"credentials": [{"name": "a", "requestsPerMinute": 0}]},
         "/credentials/0/requestsPerMinute", "TOO_SMALL"),
        ({"workflows": [{"name": "A"}]}, "/workflows/0", "DEFINITION_OR_FILE"),
        ({"workflows": [{"name": "A", "file": "absent.yaml"}]},
         "/workflows/0/file", "UNREADABLE"),
        ({"workflows": FILE["workflows"] * 2}, "/workflows/1/name", "REPEATED"),
        ({"switchedToWorkflows": False}, "/workflows", "NOT_SWITCHED"),
        ({"assignmentRules": {"default": None, "rules": [{"name": "r"}]}},
         "/assignmentRules/rules/0/target", "REQUIRED"),
    ],
)  # fmt: skip
def test_each_fault_of_a_file_has_its_path_and_code(
    tmp_path: Path, changes: dict[str, Any], path: str, code: str
) -> None:
    assert [(fault.path, fault.code) for fault in faults_of(tmp_path, **changes)] == [(path, code)]


def test_the_old_key_of_a_delivery_provider_is_refused_with_its_new_name(tmp_path: Path) -> None:
    [fault] = faults_of(tmp_path, **email(adapter=None, line="post"))
    message = '"line" is not a key. Use "provider" instead.'
    assert fault == Fault("/channels/EMAIL/line", message, "UNKNOWN_FIELD")


def test_a_channel_without_an_adapter_is_not_available(tmp_path: Path) -> None:
    file = write(tmp_path, {**FILE, **sms(**{"from": "Nordwind"})})
    with pytest.raises(ValidationError) as refusal:
        check_merchant_file(
            read_merchant_file(file), InstallationLimits({"EMAIL": ["outbox"]}, is_development=True)
        )
    assert [(fault.path, fault.code) for fault in refusal.value.faults] == [
        ("/channels/SMS", "NOT_AVAILABLE")
    ]


async def test_private_webhooks_are_refused_and_loopback_ones_outside_development(
    resources: Resources, tmp_path: Path
) -> None:
    production = replace(resources, settings=replace(resources.settings, profile="production"))
    loopback = write(tmp_path, {**FILE, **webhook(url="http://127.0.0.1:8099/webhooks")})
    with pytest.raises(ValidationError) as refusal:
        await apply_file(production, loopback, available_adapters=ADAPTERS)
    assert {fault.path for fault in refusal.value.faults} == {"/webhooks/0/url"}
    private = write(tmp_path, {**FILE, **webhook(url="https://10.0.0.1/")})
    for each in (resources, production):
        with pytest.raises(ValidationError) as refusal:
            await apply_file(each, private, available_adapters=ADAPTERS)
        assert [(fault.path, fault.code) for fault in refusal.value.faults] == [
            ("/webhooks/0/url", "NOT_ALLOWED")
        ]


def test_an_unknown_placeholder_is_a_fault_of_its_text(tmp_path: Path) -> None:
    definition = a_document()
    definition["templates"]["reminder"]["EMAIL"]["body"]["en"] += "Dear {{ debtor.nam }}"
    [fault] = faults_of(tmp_path, workflows=[{"name": "A", "definition": definition}])
    assert fault.path == "/workflows/0/definition/templates/reminder/EMAIL/body/en"


def test_a_fault_in_a_definition_file_has_the_path_in_that_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(yaml.safe_dump({**a_document(), "steps": []}))
    [fault] = faults_of(tmp_path, workflows=[{"name": "A", "file": "a.yaml"}])
    assert (fault.path, fault.message) == (
        "/workflows/0/file",
        "/steps: Give at least 1 of these.",
    )


@pytest.mark.parametrize("text", ["- a list", "key: [1", "", "\x00", "a: 1\na: 2"])
def test_a_document_that_is_no_merchant_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "merchant.yaml"
    path.write_text(text)
    with pytest.raises(ValidationError) as refusal:
        check_merchant_file(
            read_merchant_file(path), InstallationLimits(ADAPTERS, is_development=True)
        )
    assert [fault.path for fault in refusal.value.faults] == [""]


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match=r"absent\.yaml cannot be read: No such file"):
        read_merchant_file(tmp_path / "absent.yaml")


@pytest.mark.parametrize(
    ("created", "changed", "path", "code"),
    [
        ({"sandbox": True}, {"sandbox": False}, "/sandbox", "FIXED"),
        ({}, {"switchedToWorkflows": False, "workflows": []}, "/switchedToWorkflows", "FIXED"),
        ({"sandbox": True}, {"channels": {"EMAIL": {"adapter": "smtp", "from": "a@b.example"}}},
         "/channels/EMAIL/adapter", "NOT_IN_SANDBOX"),
        ({"sandbox": True}, methods("bank"), "/payment/methods/0/provider", "NOT_IN_SANDBOX"),
    ],
)  # fmt: skip
async def test_settings_fixed_at_creation_cannot_be_changed(
    resources: Resources, tmp_path: Path,
    created: dict[str, Any], changed: dict[str, Any], path: str, code: str,
) -> None:  # fmt: skip
    file = write(tmp_path, {**FILE, **created})
    await apply_file(resources, file, available_adapters=ADAPTERS)
    file = write(tmp_path, {**FILE, **changed})
    with pytest.raises(ValidationError) as refusal:
        await apply_file(
            resources, file, available_adapters=ADAPTERS, available_providers=PROVIDERS
        )
    assert [(fault.path, fault.code) for fault in refusal.value.faults] == [(path, code)]


async def test_the_sandbox_provider_is_only_for_sandbox_merchants(
    resources: Resources, tmp_path: Path
) -> None:
    production = replace(resources, settings=replace(resources.settings, profile="production"))
    file = write(tmp_path, {**FILE, **methods("sandbox")})
    options: Any = {"available_adapters": ADAPTERS, "available_providers": PROVIDERS}
    with pytest.raises(ValidationError) as refusal:
        await apply_file(production, file, **options)
    assert [(fault.path, fault.code) for fault in refusal.value.faults] == [
        ("/payment/methods/0/provider", "SANDBOX_ONLY")
    ]
    await apply_file(production, write(tmp_path, {**FILE, "sandbox": True}), **options)
    await apply_file(production, file, **options)


async def test_the_demo_merchant_can_be_applied(resources: Resources) -> None:
    path = Path(__file__).parents[2] / "examples" / "demo-merchant.yaml"
    adapters = {channel: ["outbox"] for channel in ("EMAIL", "SMS", "LETTER")}
    options: Any = {"available_adapters": adapters, "available_providers": ["sandbox"]}
    report = await apply_file(resources, path, **options)
    assert [credential.name for credential in report.credentials] == ["demo shop"]
    assert (await apply_file(resources, path, **options)).changes == []
