"""Passkeys work only at our origin, each challenge works once, and invalid answers are refused."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from dunwell.accounts.users.accept_invitation import (
    InvitationFault,
    InvitationForm,
    accept_with_passkey,
    find_invitation,
    start_passkey_registration,
)
from dunwell.accounts.users.factors.passkeys import find_relying_party
from dunwell.accounts.users.factors.set_up_factor import add_passkey, start_passkey_setup
from dunwell.accounts.users.own_account import (
    PasswordConfirmation,
    SignInTooOld,
    change_password,
    confirm_own_password,
)
from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sessions.sessions import OpenedBy, OpenedSession
from dunwell.accounts.users.sign_in.limits import MAX_ATTEMPTS
from dunwell.accounts.users.sign_in.passkey_sign_in import (
    sign_in_with_passkey,
    start_passkey_sign_in,
)
from dunwell.accounts.users.sign_in.sign_in import TooManyAttempts, WrongSignIn, check_password
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import NotFound
from dunwell.platform.resources import Resources
from tests.people.test_sessions import require
from tests.support.passkeys import SoftwarePasskey, encode
from tests.support.users import (
    AWAY,
    HOME,
    OPENER,
    PASSWORD,
    CountingHasher,
    a_new_user,
    build_sign_in_services,
    invite,
    join,
    randomness,
)

ORIGIN = "https://pay.example.org"
SECOND = timedelta(seconds=1)


@pytest.fixture
def services(resources: Resources, hasher: CountingHasher) -> SignInServices:
    """Use a public address for which passkeys are possible."""
    settings = replace(resources.settings, public_url=ORIGIN)
    return build_sign_in_services(replace(resources, settings=settings), hasher)


def a_passkey(**bent: object) -> SoftwarePasskey:
    return SoftwarePasskey(**{"origin": ORIGIN, "rp_id": "pay.example.org", **bent})  # type: ignore[arg-type]


async def ask(services: SignInServices) -> str:
    asked = await start_passkey_sign_in(services, HOME, randomness())
    assert isinstance(asked, str)
    return asked


async def enter(
    services: SignInServices, answer: bytes
) -> OpenedSession | WrongSignIn | TooManyAttempts:
    return await sign_in_with_passkey(services, answer, HOME, randomness())


async def join_by(
    services: SignInServices, passkey: SoftwarePasskey
) -> OpenedSession | InvitationFault:
    link = (await invite(services, a_new_user())).secret
    options = await start_passkey_registration(services, link, randomness())
    assert options is not None
    joining = InvitationForm(link, OPENER, HOME, randomness(), passkey=passkey.create(options))
    return await accept_with_passkey(services, joining)


async def test_a_passkey_is_enough_to_join_and_sign_in(services: SignInServices) -> None:
    passkey = a_passkey()
    joined = await join_by(services, passkey)
    opened = await enter(services, passkey.get(await ask(services)))
    assert isinstance(joined, OpenedSession)
    assert isinstance(opened, OpenedSession)
    assert (opened.user_id, opened.by) == (joined.user_id, OpenedBy.PASSKEY)
    assert opened.secret != joined.secret
    wrong = await check_password(services, "erika@example.org", "", HOME, randomness())
    assert wrong == WrongSignIn()


async def test_joining_by_passkey_discards_the_app_of_the_link(services: SignInServices) -> None:
    """Whoever saw the link knows the secret of that app."""
    await join_by(services, a_passkey())
    async with services.resources.database.connection() as connection:
        kinds = await connection.fetch("SELECT kind FROM authentication_factors")
    assert [row[0] for row in kinds] == ["PASSKEY"]


async def test_requests_name_our_domain_and_require_user_verification(
    services: SignInServices,
) -> None:
    asked = json.loads(await ask(services))
    assert (asked["rpId"], asked["userVerification"]) == ("pay.example.org", "required")
    link = (await invite(services, a_new_user())).secret
    made = json.loads(await start_passkey_registration(services, link, randomness()) or "")
    assert made["rp"]["id"] == "pay.example.org"
    assert made["authenticatorSelection"]["userVerification"] == "required"
    assert made["authenticatorSelection"]["residentKey"] == "required"


@pytest.mark.parametrize(
    "bent",
    [
        {"origin": "https://pay.example.com"},
        {"origin": "http://pay.example.org"},
        {"origin": "https://pay.example.org:8443"},
        {"origin": "https://evil.pay.example.org"},
        {"rp_id": "example.org"},
        {"verifies_user": False},
    ],
)
async def test_passkey_answers_of_another_origin_are_refused(
    services: SignInServices, bent: dict[str, object]
) -> None:
    assert await join_by(services, a_passkey(**bent)) is InvitationFault.PASSKEY
    good = a_passkey()
    paul = await join(services, a_new_user("paul@example.org", name="Paul"))
    person = await require(services, paul.session)
    async with services.work(person.actor) as work:
        options = await start_passkey_setup(services, work, person, randomness())
        assert await add_passkey(services, work, person, good.create(options), "key")
    for name, value in bent.items():
        setattr(good, name, value)
    assert await enter(services, good.get(await ask(services))) == WrongSignIn()


async def test_a_replayed_passkey_answer_is_refused(services: SignInServices) -> None:
    passkey = a_passkey(counts=False)
    await join_by(services, passkey)
    answer = passkey.get(await ask(services))
    assert isinstance(await enter(services, answer), OpenedSession)
    assert await enter(services, answer) == WrongSignIn()


async def test_concurrent_uses_of_one_answer_open_one_session(services: SignInServices) -> None:
    passkey = a_passkey(counts=False)
    await join_by(services, passkey)
    answer = passkey.get(await ask(services))
    outcomes = await asyncio.gather(*(
        sign_in_with_passkey(services, answer, visitor, randomness()) for visitor in (HOME, AWAY)
    ))  # fmt: skip
    assert sum(isinstance(each, OpenedSession) for each in outcomes) == 1


async def test_an_unknown_challenge_is_refused(services: SignInServices) -> None:
    passkey = a_passkey()
    await join_by(services, passkey)
    made_up = json.dumps({"challenge": encode(bytes(32))})
    assert await enter(services, passkey.get(made_up)) == WrongSignIn()


async def test_a_wrong_answer_uses_up_the_challenge(services: SignInServices) -> None:
    passkey = a_passkey()
    await join_by(services, passkey)
    options = await ask(services)
    stranger = a_passkey(credential_id=passkey.credential_id)
    assert await enter(services, stranger.get(options)) == WrongSignIn()
    assert await enter(services, passkey.get(options)) == WrongSignIn()


@pytest.mark.parametrize(("after", "is_good"), [(-SECOND, True), (timedelta(), False)])
async def test_a_challenge_lasts_five_minutes(
    services: SignInServices, clock: MovableClock, after: timedelta, is_good: bool
) -> None:
    passkey = a_passkey()
    await join_by(services, passkey)
    options = await ask(services)
    clock.advance(timedelta(minutes=5) + after)
    outcome = await enter(services, passkey.get(options))
    assert isinstance(outcome, OpenedSession) is is_good


async def test_a_passkey_whose_counter_does_not_grow_is_refused(services: SignInServices) -> None:
    passkey = a_passkey(count=5)
    await join_by(services, passkey)
    assert isinstance(await enter(services, passkey.get(await ask(services))), OpenedSession)
    passkey.count = 5  # The next answer then has counter 6, like the last one.
    assert await enter(services, passkey.get(await ask(services))) == WrongSignIn()


async def test_a_registration_challenge_cannot_be_used_to_sign_in(services: SignInServices) -> None:
    passkey = a_passkey()
    await join_by(services, passkey)
    link = (await invite(services, a_new_user("paul@example.org", name="Paul"))).secret
    options = await start_passkey_registration(services, link, randomness())
    assert options is not None
    assert await enter(services, passkey.get(options)) == WrongSignIn()


async def test_a_challenge_of_another_invitation_is_refused(services: SignInServices) -> None:
    theirs = (await invite(services, a_new_user())).secret
    link = (await invite(services, a_new_user("paul@example.org", name="Paul"))).secret
    options = await start_passkey_registration(services, theirs, randomness())
    assert options is not None
    joining = InvitationForm(link, OPENER, HOME, randomness(), passkey=a_passkey().create(options))
    assert await accept_with_passkey(services, joining) is InvitationFault.PASSKEY
    assert await find_invitation(services, link, OPENER) is not None


async def test_two_passkeys_cannot_join_by_one_invitation(services: SignInServices) -> None:
    link = (await invite(services, a_new_user())).secret
    joinings = []
    for _ in range(2):
        options = await start_passkey_registration(services, link, randomness())
        assert options is not None
        made = a_passkey().create(options)
        joinings.append(InvitationForm(link, OPENER, HOME, randomness(), passkey=made))
    outcomes = await asyncio.gather(*(accept_with_passkey(services, each) for each in joinings))
    assert sum(isinstance(each, OpenedSession) for each in outcomes) == 1
    async with services.resources.database.connection() as connection:
        made = await connection.fetchval(
            "SELECT count(*) FROM authentication_factors WHERE kind = 'PASSKEY'"
        )
    assert made == 1
    assert await start_passkey_registration(services, link, randomness()) is None
    again = replace(joinings[0], randomness=randomness())
    assert await accept_with_passkey(services, again) is InvitationFault.LINK


@pytest.mark.parametrize(
    "sent",
    [
        b"", b"{}", b"[]", b"null", b'"x"', b"\xff\xfe", b'{"rawId": 7, "response": {}}',
        b'{"rawId": "AA", "response": {"clientDataJSON": "e30"}}',
        b'{"rawId": "AA", "response": {"clientDataJSON": "eyJjaGFsbGVuZ2UiOiAiQUEifQ"}}',
    ],
)  # fmt: skip
async def test_an_unreadable_answer_is_refused_without_an_error(
    services: SignInServices, sent: bytes
) -> None:
    assert await enter(services, sent) == WrongSignIn()
    link = (await invite(services, a_new_user())).secret
    joining = InvitationForm(link, OPENER, HOME, randomness(), passkey=sent)
    assert await accept_with_passkey(services, joining) is InvitationFault.PASSKEY


async def test_an_answer_with_invalid_parts_is_refused(services: SignInServices) -> None:
    passkey = a_passkey()
    await join_by(services, passkey)
    for name in ("authenticatorData", "signature"):
        answer = json.loads(passkey.get(await ask(services)))
        answer["response"][name] = "AAAA"
        assert await enter(services, json.dumps(answer).encode()) == WrongSignIn()


async def test_wrong_passkeys_are_counted_per_visitor(services: SignInServices) -> None:
    passkey = a_passkey()
    await join_by(services, passkey)
    for _ in range(MAX_ATTEMPTS):
        assert await enter(services, a_passkey().get(await ask(services))) == WrongSignIn()
    assert isinstance(await enter(services, passkey.get(await ask(services))), TooManyAttempts)


@pytest.mark.parametrize(
    ("url", "rp_id"),
    [
        ("http://localhost:8000", "localhost"), (ORIGIN, "pay.example.org"),
        ("http://127.0.0.1:8000", None), ("http://[::1]:8000", None),
    ],
)  # fmt: skip
def test_the_relying_party_id_is_the_host_of_our_address(url: str, rp_id: str | None) -> None:
    party = find_relying_party(url)
    assert (party and party.rp_id) == rp_id
    assert party is None or party.origin == url


async def test_passkeys_are_not_available_at_an_ip_address(
    resources: Resources, hasher: CountingHasher
) -> None:
    with pytest.raises(NotFound):
        await ask(build_sign_in_services(resources, hasher))


@pytest.mark.parametrize(
    ("way", "seconds", "is_let"),
    [
        ("PASSKEY", 299, True), ("PASSKEY", 300, False), ("INVITATION", 299, True),
        ("INVITATION", 300, False), ("RECOVERY", 0, False), ("PASSWORD", 0, False),
    ],
)  # fmt: skip
async def test_a_user_without_a_password_must_have_used_the_passkey_recently(
    services: SignInServices, clock: MovableClock, way: str, seconds: int, is_let: bool
) -> None:
    """Otherwise a person who finds an open session could take over the account."""
    opened = await join_by(services, a_passkey())
    assert isinstance(opened, OpenedSession)
    async with services.resources.database.connection() as connection:
        await connection.execute("UPDATE portal_sessions SET opened_by = $1", way)
    person = await require(services, opened)
    clock.advance(timedelta(seconds=seconds))
    asking = PasswordConfirmation(person, "", HOME)
    assert await confirm_own_password(services, asking) == (None if is_let else SignInTooOld())
    outcome = await change_password(services, asking, PASSWORD, randomness())
    assert isinstance(outcome, OpenedSession) is is_let


async def test_a_recent_sign_in_in_another_session_does_not_confirm_this_one(
    services: SignInServices, clock: MovableClock
) -> None:
    passkey = a_passkey()
    opened = await join_by(services, passkey)
    assert isinstance(opened, OpenedSession)
    person = await require(services, opened)
    clock.advance(timedelta(minutes=5))
    again = await enter(services, passkey.get(await ask(services)))
    assert isinstance(again, OpenedSession)
    assert (
        await confirm_own_password(services, PasswordConfirmation(person, "", HOME))
        == SignInTooOld()
    )
    newer = await require(services, again)
    assert await confirm_own_password(services, PasswordConfirmation(newer, "", HOME)) is None
