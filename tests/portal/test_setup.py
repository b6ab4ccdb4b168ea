"""Settings: creating and configuring a merchant with forms, by the rules of the merchant file."""

import re
from typing import Any

import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.accounts.merchants.configuration import VERIFICATION_METHODS
from dunwell.accounts.merchants.credentials.store import find_merchant_id_by_key
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import load_merchant
from dunwell.interfaces.portal.setup.sections import SECTIONS
from dunwell.operations.merchant_file.apply_file import apply_checked, read_checked_file
from dunwell.operations.merchant_file.check_file import CheckedFile
from dunwell.platform.resources import Resources
from dunwell.platform.text.yaml_document import parse_yaml, render_yaml
from tests.support.application import an_application
from tests.support.direct_debits import CREDITOR_ID
from tests.support.harness import Harness
from tests.support.portal import Clerk, sign_in
from tests.support.portal_setup import read_form, save, send
from tests.usecases.test_apply import ADAPTERS
from tests.usecases.test_uploaded_merchant_file import EVERYTHING, a_picture

PATHS = (
    "/settings", *(f"/settings/{name}" for name in SECTIONS), "/settings/file",
    "/settings/webhooks", "/credentials",
)  # fmt: skip
_DEBIT = {
    "payment__directDebit": "yes",
    "payment__directDebit__creditorId": CREDITOR_ID,
    "payment__directDebit__account__iban": "de89 3704 0044 0532 0130 00",
    "payment__directDebit__account__holder": "Teekontor Hansen GmbH",
}
_KIND = re.compile(r"<h2 id=\"needs\">(.*?)</h2>")


async def load(clerk: Clerk, resources: Resources) -> Merchant:
    async with resources.database.connection() as connection:
        merchant = await load_merchant(connection, clerk.merchant_id)
    assert merchant is not None
    return merchant


@pytest.fixture(scope="module")
async def complete_file(
    lasting_resources: Resources, tmp_path_factory: pytest.TempPathFactory
) -> CheckedFile:
    """A file with all settings, loaded once: rendering its logo starts child processes."""
    folder = tmp_path_factory.mktemp("everything")
    (folder / "logo.svg").write_bytes(a_picture("PNG"))
    document = {**EVERYTHING, "payment": {**EVERYTHING["payment"], "methods": []}}
    path = folder / "merchant.yaml"
    path.write_text(render_yaml({**document, "webhooks": []}))
    return await read_checked_file(lasting_resources, path, ADAPTERS, ())


@pytest.fixture
async def configured(clerk: Clerk, resources: Resources, complete_file: CheckedFile) -> Clerk:
    """A clerk of a merchant for which everything is configured."""
    report = await apply_checked(resources, complete_file)
    assert report.merchant_id is not None
    clerk.merchant_id = report.merchant_id
    return clerk


async def open_merchant(clerk: Clerk, resources: Resources, **typed: Any) -> Clerk:
    form = read_form((await clerk.get("/portal/merchants/new")).text, "counterpart")
    named = {"name": "Nordlicht", "key": "nordlicht", **typed}
    answer = await send(clerk, "/portal/merchants/new", {**form, **named})
    assert answer.status_code == 303, answer.text
    async with resources.database.connection() as connection:
        merchant_id = await find_merchant_id_by_key(connection, str(named["key"]))
    assert merchant_id is not None
    clerk.merchant_id = merchant_id
    return clerk


def headline(text: str) -> str:
    found = _KIND.search(text)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("language", ["en", "de"])
async def test_every_page_is_rendered(clerk: Clerk, language: str) -> None:
    await clerk.get(f"?lang={language}")
    for path in PATHS:
        page = await clerk.get(path)
        assert page.status_code == 200, (path, page.text[-600:])
        assert f'<html lang="{language}"' in page.text


@pytest.mark.parametrize("section", SECTIONS)
async def test_submitting_an_unchanged_form_changes_nothing(
    configured: Clerk, resources: Resources, section: str
) -> None:
    before = await load(configured, resources)
    form = read_form((await configured.get(f"/settings/{section}")).text, "revision")

    answer = await send(configured, f"/settings/{section}", form)

    assert answer.status_code == 303, answer.text
    assert answer.headers["Location"].endswith("done=unchanged")
    assert await load(configured, resources) == before


async def test_a_new_merchant_can_be_fully_configured_with_forms(
    clerk: Clerk, resources: Resources
) -> None:
    """A live merchant in Germany, with all settings that the law requires."""
    await open_merchant(clerk, resources, kind="live")
    page = await clerk.get("/settings")
    assert headline(page.text) == "6 settings are required before claims can be created"
    assert "0 of 6 completed." in page.text

    await save(
        clerk,
        "creditor",
        legal__name="Nordwind GmbH",
        legal__address="Deichstraße 1\n20459 Hamburg",
    )
    # From the name, the checklist knows that the creditor is a company.
    page = await clerk.get("/settings")
    assert headline(page.text) == "6 settings are required before claims can be created"
    assert "Required by section 5 DDG for companies." in page.text
    await save(clerk, "creditor", legal__register="Amtsgericht Hamburg, HRB 1",
               legal__representatives="Ina Brandt\n\nOle Krüger ")  # fmt: skip
    await save(clerk, "contact", contact__email="hilfe@nordwind.example")
    await save(clerk, "privacy", privacy__authority="Behörde, Hamburg", privacy__basis=["CONTRACT"],
               privacy__retention__claimYears="3")  # fmt: skip
    await save(clerk, "channels", channels__EMAIL__by="adapter:outbox",
               channels__EMAIL__from="claims@nordwind.example")  # fmt: skip
    assert headline((await clerk.get("/settings")).text) == (
        "1 setting is required before claims can be created"
    )
    await save(clerk, "payment", payment__bankAccount__iban="DE02 1203 0000 0000 2020 51",
               payment__bankAccount__holder="Nordwind")  # fmt: skip

    page = await clerk.get("/settings")
    assert headline(page.text) == "Setup complete: claims can be created"
    assert "7 of 7 completed." in page.text
    configuration = (await load(clerk, resources)).configuration
    assert configuration.legal is not None
    assert configuration.legal.representatives == ("Ina Brandt", "Ole Krüger")
    assert configuration.payment.bank_account is not None
    assert configuration.payment.bank_account.iban == "DE02120300000000202051"


@pytest.mark.parametrize(
    ("section", "typed", "field", "expected"),
    [
        ("creditor", {"legal__name": ""}, "legal.name", "Please fill this in."),
        ("creditor", {"legal__country": "XX"}, "legal.country", "country code"),
        ("contact", {"contact__email": "nobody"}, "contact.email", "Enter a valid e-mail address."),
        ("payment", {"payment__bankAccount__iban": "DE00"}, "payment.bankAccount.iban", "IBAN"),
        ("payment", {"payment__partial__min": "12,3x"}, "payment.partial.min", "Enter an amount"),
        ("letters", {"letters__postalDays": "0"}, "letters.postalDays", "too small"),
        ("letters", {"letters__postalDays": "11"}, "letters.postalDays", "too large"),
        ("guards", {"guards__maxContactsPerDay": "0"}, "guards.maxContactsPerDay", "too small"),
        ("guards", {"guards__maxContactsPerWeek": "many"}, "guards.maxContactsPerWeek", "whole"),
        ("guards", {"guards__quietHours__to": "21:00"}, "guards.quietHours.to", "the whole day"),
        ("channels", {"channels__EMAIL__from": ""}, "channels.EMAIL.from", "fill this in"),
        ("channels", {"channels__SMS__by": ""}, "channels.SMS.by", "fill this in"),
        # A merchant file cannot remove a channel, so an empty choice is refused.
        ("channels", {"channels__LETTER__by": ""}, "channels.LETTER.by", "fill this in"),
        (
            "payment", {"payment__bankAccount__iban": "", "payment__bankAccount__holder": ""},
            "payment.bankAccount.holder", "fill this in",
        ),
        (
            "debit", {**_DEBIT, "payment__directDebit__creditorId": "DE99ZZZ1"},
            "payment.directDebit.creditorId", "Copy it again",
        ),
        (
            "debit", {"payment__directDebit": "yes", "payment__directDebit__creditorId": ""},
            "payment.directDebit.creditorId", "fill this in",
        ),
        (
            "debit", {**_DEBIT, "payment__directDebit__account__iban": "GB33BUKB20201555555555"},
            "payment.directDebit.account.iban", "European Economic Area",
        ),
        (
            "debit", {**_DEBIT, "payment__directDebit__preNotificationDays": "2"},
            "payment.directDebit.preNotificationDays", "before the bank needs the file",
        ),
        ("page", {"landingPage__languages": None}, "landingPage.languages", "at least one"),
        ("offers", {"modalities__plan__counts": "1"}, "modalities.plan.counts", "too small"),
        ("offers", {"modalities__plan__counts": "3, 3"}, "modalities.plan.counts", "twice"),
        ("account", {"timezone": "Europe/Atlantis"}, "timezone", "valid time zone"),
        ("brand", {"brand__color": "red"}, "brand.color", "format is not valid"),
        ("disputes", {"disputes__reasons__own1__type": "SMALL"},
        "disputes.reasons.own1.label.de",
         "fill this in"),
        (
            "disputes", {"disputes__answerWithinDays": "99"}, "disputes.answerWithinDays",
            "too large",
        ),
    ],
)  # fmt: skip
async def test_errors_are_shown_next_to_their_fields_and_nothing_is_saved(
    configured: Clerk,
    resources: Resources,
    section: str,
    typed: dict[str, Any],
    field: str,
    expected: str,
) -> None:
    before = await load(configured, resources)
    answer = await save(configured, section, **typed)

    assert answer.status_code == 422, answer.text[-3000:]
    [error] = re.findall(rf'id="{re.escape(field)}-error">(.*?)</p>', answer.text, re.DOTALL)
    assert expected in error
    assert f'<a href="#{field}">' in answer.text
    for name, value in typed.items():
        assert value is None or str(value) in answer.text or value == "", name
    assert await load(configured, resources) == before


async def test_a_removed_delivery_provider_is_still_shown_as_chosen(
    configured: Clerk, resources: Resources
) -> None:
    """If it were not listed, the browser would select the first option instead."""
    async with resources.database.transaction() as tx:
        await tx.execute(
            "UPDATE merchants SET revision = revision + 1, configuration = jsonb_set("
            "configuration::jsonb, '{channels,EMAIL}', $2::jsonb) WHERE merchant_id = $1",
            configured.merchant_id,
            {"provider": "gone", "from": "a@nordwind.example"},
        )
    form = read_form((await configured.get("/settings/channels")).text, "revision")
    assert form["channels.EMAIL.by"] == ["provider:gone"]


async def test_important_changes_are_previewed_before_saving(
    configured: Clerk, resources: Resources
) -> None:
    before = await load(configured, resources)
    form = read_form((await configured.get("/settings/guards")).text, "revision")
    typed = {**form, "guards.maxContactsPerWeek": "5", "guards.quietHours": None}

    asked = await send(configured, "/settings/guards", typed)

    assert asked.status_code == 200
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</th><td>(.*?)</td><td>(.*?)</td>", asked.text)
    assert [re.sub(r"<[^>]*>", "", row[0]) for row in rows] == [
        "Maximum contacts in seven days", "Enable quiet hours",
    ]  # fmt: skip
    assert await load(configured, resources) == before
    back = await send(
        configured, "/settings/guards", {**read_form(asked.text, "revision"), "do": "look"}
    )
    assert 'value="5"' in back.text
    saved = await send(
        configured, "/settings/guards", {**read_form(asked.text, "revision"), "do": "save"}
    )
    assert saved.headers["Location"].endswith("done=saved")
    guards = (await load(configured, resources)).configuration.guards
    assert (guards.max_contacts_per_day, guards.max_contacts_per_week) == (2, 5)
    assert guards.quiet_hours is None


async def test_direct_debits_are_set_up_changed_and_turned_off(
    configured: Clerk, resources: Resources
) -> None:
    """The other settings of payments stay as they are."""
    before = (await load(configured, resources)).configuration.payment
    await save(configured, "debit", **_DEBIT)
    first = (await load(configured, resources)).configuration.payment
    assert first.direct_debit is not None
    assert first.direct_debit.account.iban == "DE89370400440532013000"
    assert first.direct_debit.pre_notification_days == 14
    more = {
        "payment__directDebit__preNotificationDays": "5",
        "payment__directDebit__secondRelease": "yes",
    }
    await save(configured, "debit", **more)
    changed = (await load(configured, resources)).configuration.payment.direct_debit
    assert changed is not None
    assert (changed.pre_notification_days, changed.second_release) == (5, True)
    assert changed.creditor_id == CREDITOR_ID
    await save(configured, "payment", payment__allocation="PRIMARY_FIRST")
    assert (await load(configured, resources)).configuration.payment.direct_debit == changed
    await save(configured, "payment", payment__allocation=before.allocation)
    await save(configured, "debit", payment__directDebit=None)
    assert (await load(configured, resources)).configuration.payment == before
    async with resources.database.connection() as connection:
        details = await connection.fetchval(
            "SELECT details FROM audit_log WHERE merchant_id = $1 ORDER BY audit_id DESC LIMIT 1",
            configured.merchant_id,
        )
    assert details["changed"] == ["payment"]


async def test_the_checklist_leads_to_the_payment_methods(clerk: Clerk) -> None:
    page = await clerk.get("/settings")
    [needs] = re.findall(r'<ul class="needs">(.*?)</ul>', page.text, re.DOTALL)[:1]
    assert "/settings/payment" in needs
    assert "/settings/debit" not in needs


async def test_files_are_delivered_to_a_connection_of_the_installation(
    configured: Clerk, resources: Resources
) -> None:
    bank = {"adapter": "folder", "folder": "/srv/bank"}
    document = check_installation({"bankConnections": {"sparkasse": bank}})
    await apply_installation(resources, document, {})
    is_sandbox = (await load(configured, resources)).is_sandbox
    page = await configured.get("/settings/debit")
    assert ('<option value="sparkasse">' in page.text) is not is_sandbox
    saved = await save(configured, "debit", **_DEBIT, payment__directDebit__deliverTo="sparkasse")
    assert saved.status_code == (422 if is_sandbox else 303)


async def test_all_verification_methods_of_a_link_are_kept(
    configured: Clerk, resources: Resources
) -> None:
    """All methods that a file can contain, in its order; saving another field keeps them."""
    typed = {
        f"landingPage__verification__EMAIL__{place}": proof
        for place, proof in enumerate(reversed(VERIFICATION_METHODS))
    }
    await save(configured, "page", **typed)
    await save(configured, "page", landingPage__advice__de="Rat: 0800 1")
    page = (await load(configured, resources)).configuration.landing_page
    assert page.verification["EMAIL"] == tuple(reversed(VERIFICATION_METHODS))
    assert page.advice["de"] == "Rat: 0800 1"


@pytest.mark.parametrize("section", ["contact", "guards", "debit"])
async def test_after_a_conflict_both_values_are_shown(
    configured: Clerk, resources: Resources, section: str
) -> None:
    field = {
        "contact": "contact.hours", "guards": "guards.maxContactsPerWeek",
        "debit": "payment.directDebit.preNotificationDays",
    }[section]  # fmt: skip
    if section == "debit":
        await save(configured, section, **_DEBIT)
    form = read_form((await configured.get(f"/settings/{section}")).text, "revision")
    await save(configured, section, **{field.replace(".", "__"): "7"})
    between = await load(configured, resources)

    second = await send(configured, f"/settings/{section}", {**form, field: "9"})

    assert second.status_code == 409
    assert "Someone else changed this while you were editing" in second.text
    assert 'value="9"' in second.text
    assert "Currently saved: 7" in second.text
    assert await load(configured, resources) == between
    again = await send(configured, f"/settings/{section}", read_form(second.text, "revision"))
    if again.status_code == 200:
        form = read_form(again.text, "revision")
        again = await send(configured, f"/settings/{section}", {**form, "do": "save"})
    assert again.headers["Location"].endswith("done=saved")


async def test_a_conflict_is_still_shown_after_a_value_was_corrected(
    configured: Clerk,
) -> None:
    field = "guards.maxContactsPerWeek"
    form = read_form((await configured.get("/settings/guards")).text, "revision")
    await save(configured, "guards", guards__maxContactsPerWeek="7")

    unreadable = await send(configured, "/settings/guards", {**form, field: "many"})

    assert (unreadable.status_code, 'value="many"' in unreadable.text) == (422, True)
    corrected = {**read_form(unreadable.text, "revision"), field: "9"}
    second = await send(configured, "/settings/guards", corrected)
    assert (second.status_code, "Currently saved: 7" in second.text) == (409, True)


async def test_users_can_change_different_sections_at_the_same_time(
    configured: Clerk, resources: Resources
) -> None:
    form = read_form((await configured.get("/settings/contact")).text, "revision")
    await save(configured, "account", name="Nordwind Nord")
    answer = await send(configured, "/settings/contact", {**form, "contact.hours": "9 to 5"})

    assert answer.headers["Location"].endswith("done=saved")
    merchant = await load(configured, resources)
    assert merchant.name == "Nordwind Nord"
    assert merchant.configuration.contact is not None
    assert merchant.configuration.contact.hours == "9 to 5"


async def test_a_setting_that_a_published_workflow_needs_cannot_be_removed(
    configured: Clerk, resources: Resources
) -> None:
    await save(configured, "contact", contact__phone="+49 40 123")
    standing = read_form((await configured.get("/settings/file")).text, "text")
    exported = (await configured.get("/settings/merchant.yaml")).text
    document = parse_yaml(exported)
    body = document["workflows"][0]["definition"]["templates"]["reminder"]
    channel = body["EMAIL"]["body"]
    for language in channel:
        channel[language] += "\n\n{{ merchant.phone }}"
    changes = await configured.post("/settings/changes", {
        "token": standing["token"], "text": render_yaml(document), "publish": "yes",
    })  # fmt: skip
    applied = {**read_form(changes.text, "known_revision"), "do": "apply"}
    assert (await send(configured, "/settings/changes", applied)).status_code == 200

    answer = await save(configured, "contact", contact__phone="")

    assert answer.status_code == 422
    assert "The workflow &#34;Standard&#34; needs it" in answer.text
    contact = (await load(configured, resources)).configuration.contact
    assert contact is not None
    assert contact.phone == "+49 40 123"


async def test_every_change_names_its_author_in_the_audit_log(
    configured: Clerk, resources: Resources
) -> None:
    await save(configured, "contact", contact__hours="9 to 5")
    async with resources.database.connection() as connection:
        row = await connection.fetchrow(
            "SELECT action, actor_kind, details FROM audit_log WHERE merchant_id = $1"
            " ORDER BY audit_id DESC LIMIT 1",
            configured.merchant_id,
        )
    assert row is not None
    assert (row["action"], row["actor_kind"]) == ("merchant.change_configuration", "USER")
    assert row["details"]["changed"] == ["contact"]


async def test_own_reasons_keep_their_order_and_languages(
    configured: Clerk, resources: Resources
) -> None:
    await save(
        configured, "disputes",
        disputes__reasons__own1__type="TOO_LATE", disputes__reasons__own1__label__de="Zu spät",
        disputes__reasons__INSOLVENCY__hidden="yes",
    )  # fmt: skip
    reasons = (await load(configured, resources)).configuration.disputes.reasons
    assert [(each.type, each.labels, each.is_hidden) for each in reasons] == [
        ("WRONG_SIZE", {"de": "Größe", "fr": "Taille"}, False),
        ("INSOLVENCY", {}, True),
        ("TOO_LATE", {"de": "Zu spät"}, False),
    ]
    assert 'name="disputes.reasons.own3.type"' in (await configured.get("/settings/disputes")).text


async def test_a_merchant_key_is_unique(clerk: Clerk, resources: Resources) -> None:
    await open_merchant(clerk, resources)
    form = read_form((await clerk.get("/portal/merchants/new")).text, "counterpart")
    answer = await send(
        clerk, "/portal/merchants/new", {**form, "name": "Other", "key": "nordlicht"}
    )
    assert answer.status_code == 422
    assert "This value is already in use" in answer.text
    wrong = await send(clerk, "/portal/merchants/new", {**form, "name": "", "key": "Nord Wind"})
    assert wrong.status_code == 422
    assert 'id="key-error"' in wrong.text
    assert 'id="name-error"' in wrong.text


async def test_a_sandbox_and_its_live_merchant_link_to_each_other(
    configured: Clerk, resources: Resources
) -> None:
    live = configured.merchant_id
    before = await load(configured, resources)
    form = read_form(
        (await configured.get(f"/portal/merchants/new?counterpart={live}")).text,
        "counterpart",
    )
    assert (form["key"], form["kind"]) == (["nordwind-sandbox"], ["sandbox"])

    answer = await send(configured, "/portal/merchants/new", form)

    assert answer.status_code == 303, answer.text[-3000:]
    page = await configured.get(answer.headers["Location"])
    assert headline(page.text) == "Setup complete: claims can be created"
    assert f'<a href="/portal/m/{live}/settings">Live merchant: nordwind</a>' in page.text
    back = await configured.get("/settings")
    assert ">Sandbox: nordwind-sandbox</a>" in back.text
    configured.merchant_id = int(page.url.path.split("/")[3])
    sandbox = await load(configured, resources)
    assert sandbox.is_sandbox
    assert sandbox.configuration.guards == before.configuration.guards
    assert sandbox.configuration.brand == before.configuration.brand
    assert {each.provider for each in sandbox.configuration.channels.values()} == {None}


async def test_users_of_one_merchant_cannot_create_another(
    staff: Clerk, resources: Resources, harness: Harness
) -> None:
    assert (await staff.get("/portal/merchants/new")).status_code == 404
    clerk = await sign_in(resources, an_application(resources).app, harness)
    fields = read_form((await clerk.get("/portal/merchants/new")).text, "counterpart")
    account = await staff.get("/portal/account")
    token = read_form(account.text)["token"]
    named = {**fields, "token": token, "name": "Mine", "key": "mine"}
    assert (await send(staff, "/portal/merchants/new", named)).status_code == 404
    async with resources.database.connection() as connection:
        assert await find_merchant_id_by_key(connection, "mine") is None
