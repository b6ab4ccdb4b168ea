"""A form submitted after its session has ended: its values are shown, and restored when the same
user has signed in; never for another user, and never with a secret."""

import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from dunwell.accounts.users.sessions.store import MAX_FORMS
from dunwell.accounts.users.sweep_users import sweep_user_rows
from dunwell.interfaces.portal.render.addresses import PATHS
from dunwell.interfaces.portal.render.pages import TEMPLATES
from dunwell.interfaces.portal.web.stale_forms import is_typed_field
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support import users
from tests.support.application import an_application, connect
from tests.support.harness import Harness
from tests.support.portal import COOKIE, Clerk, read_fields

_PAYMENT = {"amount": "40,50", "on": "2026-03-01", "number": "7"}
# The page of the changes contains the merchant file that was entered.
_CARRIED = {
    "settings_changes.html": {"text"},
    "payment_refund.html": {"amount", "effect", "reason"},
    "payment.html": {"surplus_cents"},
    "payments.html": {"from", "surplus_cents"},
    "payments_review.html": {"movement", "refund"},
    "bank_csv.html": {"sample"},
    "bank_entries.html": {"left_cents", "match", "share"},
    "bank_statement.html": {"match"},
}
_FORM = re.compile(r"<form[^>]*method=\"post\".*?</form>", re.DOTALL)
_BANNER = "are back in this form"


class ReturningClerk(Clerk):
    """A clerk who can sign in again."""

    person: users.JoinedUser
    resources: Resources

    async def sign_in_again(self) -> None:
        opened = await users.sign_in(users.build_sign_in_services(self.resources), self.person)
        self.http.cookies.set(COOKIE, opened.secret)

    async def end_session(self) -> None:
        async with self.resources.database.transaction() as tx:
            await tx.execute(
                "UPDATE portal_sessions SET ended_at = last_used_at WHERE user_id = $1",
                self.person.user_id,
            )

    async def send_too_late(self, path: str, values: Mapping[str, str]) -> str:
        fields = {**read_fields((await self.get(path)).text), **values}
        await self.end_session()
        answer = await self.post(path, fields)
        assert answer.status_code == 403
        return answer.text


async def a_returning_clerk(
    resources: Resources, harness: Harness, email: str = "ada@example.org"
) -> ReturningClerk:
    person = await users.join(users.build_sign_in_services(resources), users.a_new_user(email))
    http = connect(an_application(resources).app, "203.0.113.7")
    returning_clerk = ReturningClerk(http, harness.merchant.merchant_id)
    returning_clerk.person, returning_clerk.resources = person, resources
    http.cookies.set(COOKIE, person.session.secret)
    return returning_clerk


@pytest.fixture
async def returning_clerk(resources: Resources, harness: Harness) -> ReturningClerk:
    return await a_returning_clerk(resources, harness)


async def count_kept(resources: Resources) -> int:
    async with resources.database.connection() as connection:
        count: int = await connection.fetchval("SELECT count(*) FROM interrupted_forms")
    return count


async def test_every_value_is_shown_and_restored_to_the_form_after_signing_in(
    returning_clerk: ReturningClerk, claim_id: int, resources: Resources
) -> None:
    path = f"/claims/{claim_id}/payment"
    shown = await returning_clerk.send_too_late(path, _PAYMENT)
    for value in _PAYMENT.values():
        assert f'<p class="words">{value}</p>' in shown
    assert f"/portal/sign-in?next=%2Fportal%2Fm%2F{returning_clerk.merchant_id}" in shown

    await returning_clerk.sign_in_again()
    page = await returning_clerk.get(path)
    fields = read_fields(page.text)
    assert _BANNER in page.text
    assert {name: fields[name] for name in _PAYMENT} == _PAYMENT

    sent = await returning_clerk.post(path, fields)
    assert sent.status_code == 303, sent.text
    assert await count_kept(resources) == 0
    assert _BANNER not in (await returning_clerk.get(path)).text


async def test_hidden_ids_and_tokens_are_not_shown(
    returning_clerk: ReturningClerk, claim_id: int
) -> None:
    path = f"/claims/{claim_id}/contact"
    fields = read_fields((await returning_clerk.get(path)).text)
    shown = await returning_clerk.send_too_late(path, {"city": "Kiel"})
    assert ">Kiel</p>" in shown
    assert fields["token"] not in shown
    assert fields["revision"] not in shown


async def test_the_text_editor_restores_the_text_of_its_own_address(
    returning_clerk: ReturningClerk, harness: Harness, claim_id: int
) -> None:
    assert claim_id
    [row] = await harness.rows("SELECT workflow_id FROM workflows WHERE merchant_id = $1")
    path = f"/workflows/{row['workflow_id']}/texts/edit?template=reminder&channel=EMAIL&language=de"
    body = 'Guten Tag,\n\n"bitte" <zahlen> & antworten'
    await returning_clerk.send_too_late(path, {"body": body, "subject": "Neu"})
    await returning_clerk.sign_in_again()
    fields = read_fields((await returning_clerk.get(path)).text)
    assert (fields["body"], fields["subject"]) == (body, "Neu")
    other = read_fields((await returning_clerk.get(path.replace("=de", "=en"))).text)
    assert other["subject"] != "Neu"


async def test_signing_in_in_another_tab_also_restores_the_values(
    returning_clerk: ReturningClerk, claim_id: int
) -> None:
    path = f"/claims/{claim_id}/payment"
    fields = {**read_fields((await returning_clerk.get(path)).text), **_PAYMENT}
    await returning_clerk.end_session()
    await returning_clerk.sign_in_again()
    stale = await returning_clerk.post(path, fields)
    assert stale.status_code == 403
    assert "You signed in again after opening this form." in stale.text
    assert read_fields((await returning_clerk.get(path)).text)["amount"] == "40,50"


async def test_another_user_never_gets_the_values(
    returning_clerk: ReturningClerk, harness: Harness, claim_id: int, resources: Resources
) -> None:
    path = f"/claims/{claim_id}/payment"
    fields = {**read_fields((await returning_clerk.get(path)).text), **_PAYMENT}
    other = await a_returning_clerk(resources, harness, "eve@example.org")
    # In the browser of another user, and in one without a session.
    for cookies in ({COOKIE: other.person.session.secret}, {}):
        returning_clerk.http.cookies.clear()
        for name, value in cookies.items():
            returning_clerk.http.cookies.set(name, value)
        assert (await returning_clerk.post(path, fields)).status_code == 403
        assert await count_kept(resources) == 0
    returning_clerk.http.cookies.set(COOKIE, returning_clerk.person.session.secret)
    await returning_clerk.send_too_late(path, _PAYMENT)
    assert await count_kept(resources) == 1
    page = await other.get(path)
    assert _BANNER not in page.text
    assert "40,50" not in page.text


async def test_no_secret_is_shown_or_stored(
    returning_clerk: ReturningClerk, resources: Resources
) -> None:
    secrets = {
        "password": "correct horse", "password_new": "battery", "confirm_password": "staple",
        "code": "123456", "authorization": "Bearer abc", "answer": "passkey",
    }  # fmt: skip
    shown = await returning_clerk.send_too_late(
        "/settings/webhooks", {"url": "https://a.example", **secrets}
    )
    assert "https://a.example" in shown
    async with resources.database.connection() as connection:
        stored = await connection.fetchval("SELECT fields::text FROM interrupted_forms")
    for secret in secrets.values():
        assert f">{secret}<" not in shown
        assert secret not in stored


async def test_a_merchant_file_is_shown_and_not_stored(
    returning_clerk: ReturningClerk, resources: Resources
) -> None:
    fields = read_fields((await returning_clerk.get("/settings/file")).text)
    await returning_clerk.end_session()
    fields["text"] = "authorization: Bearer abc"
    shown = (await returning_clerk.post("/settings/changes", fields)).text
    assert "authorization: Bearer abc" in shown
    async with resources.database.connection() as connection:
        assert "Bearer" not in await connection.fetchval(
            "SELECT fields::text FROM interrupted_forms"
        )


async def test_the_values_are_kept_for_a_day_and_for_ten_minutes_after_they_were_restored(
    returning_clerk: ReturningClerk, claim_id: int, clock: MovableClock, resources: Resources
) -> None:
    path = f"/claims/{claim_id}/payment"
    await returning_clerk.send_too_late(path, _PAYMENT)
    clock.advance(timedelta(hours=23, minutes=59))
    await returning_clerk.sign_in_again()
    for _ in range(2):  # The page may be loaded again.
        assert _BANNER in (await returning_clerk.get(path)).text
    clock.advance(timedelta(minutes=10))
    assert _BANNER not in (await returning_clerk.get(path)).text
    await sweep_user_rows(resources)
    assert await count_kept(resources) == 0

    await returning_clerk.send_too_late(path, _PAYMENT)
    clock.advance(timedelta(hours=24))
    await returning_clerk.sign_in_again()
    assert _BANNER not in (await returning_clerk.get(path)).text


async def test_the_number_and_the_size_of_a_users_kept_forms_are_limited(
    returning_clerk: ReturningClerk, harness: Harness, resources: Resources
) -> None:
    claims = await harness.create(*(f"INV-{number}" for number in range(MAX_FORMS + 2)))
    paths = [f"/claims/{each}/note" for each in claims]
    forms = [read_fields((await returning_clerk.get(path)).text) for path in paths]
    await returning_clerk.end_session()
    for path, fields in zip(paths, forms, strict=True):
        await returning_clerk.post(path, {**fields, "text": "Called"})
        harness.clock.advance(timedelta(seconds=1))
    assert await count_kept(resources) == MAX_FORMS
    await returning_clerk.sign_in_again()
    assert _BANNER not in (await returning_clerk.get(paths[0])).text
    assert _BANNER in (await returning_clerk.get(paths[-1])).text

    large = await returning_clerk.send_too_late(
        paths[0], {"text": "\N{EURO SIGN}" * 20_000, "a": "b" * 9}
    )
    assert "visible only to you" in large


def test_no_hidden_field_of_any_template_counts_as_typed() -> None:
    found = 0
    carried: dict[str, set[str]] = {}
    for folder in TEMPLATES:
        for path in Path(folder).glob("*.html"):
            for form in _FORM.findall(path.read_text()):
                names = re.findall(r'hidden\("([^"]*)"', form)
                names += re.findall(r'type="hidden" name="([^"]*)"', form)
                names += re.findall(r'field\("([^"]*)"[^}]*type="password"', form)
                found += len(names)
                page = path.stem if path.stem in PATHS else ""
                if typed := {name for name in names if is_typed_field(page, name)}:
                    carried.setdefault(path.name, set()).update(typed)
    assert carried == _CARRIED
    assert found > 100
