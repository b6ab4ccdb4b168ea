"""Passkeys: made and used at our origin alone, each challenge once, refusals that are no faults."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from dunwell.accounts.users.accept_invitation import (
    Joining,
    LinkFault,
    ask_for_passkey,
    find_invitation,
    join_with_passkey,
)
from dunwell.accounts.users.factors.passkeys import find_relying_party
from dunwell.accounts.users.factors.set_up_factor import add_passkey, start_passkey
from dunwell.accounts.users.own_account import (
    SignInChange,
    TooLongAgo,
    change_password,
    check_own_password,
)
from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sessions.sessions import OpenedBy, OpenedSession
from dunwell.accounts.users.sign_in.limits import MOST_WRONG
from dunwell.accounts.users.sign_in.passkey_sign_in import ask_passkey, sign_in_with_passkey
from dunwell.accounts.users.sign_in.sign_in import TooOften, WrongSignIn, check_password
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import NotFound
from dunwell.platform.resources import Resources
from tests.people.test_sessions import require
from tests.support.passkeys import SoftwarePasskey, encode
from tests.support.people import (
    AWAY,
    HOME,
    OPENER,
    PASSWORD,
    CountingHasher,
    a_new_user,
    a_reception,
    invite,
    join,
    randomness,
)

ORIGIN = "https://pay.example.org"
SECOND = timedelta(seconds=1)


@pytest.fixture
def reception(resources: Resources, hasher: CountingHasher) -> SignInServices:
    """At an address that passkeys are for."""
    settings = replace(resources.settings, public_url=ORIGIN)
    return a_reception(replace(resources, settings=settings), hasher)


def a_passkey(**bent: object) -> SoftwarePasskey:
    return SoftwarePasskey(**{"origin": ORIGIN, "rp_id": "pay.example.org", **bent})  # type: ignore[arg-type]


async def ask(reception: SignInServices) -> str:
    asked = await ask_passkey(reception, HOME, randomness())
    assert isinstance(asked, str)
    return asked


async def enter(reception: SignInServices, answer: bytes) -> OpenedSession | WrongSignIn | TooOften:
    return await sign_in_with_passkey(reception, answer, HOME, randomness())


async def join_by(reception: SignInServices, passkey: SoftwarePasskey) -> OpenedSession | LinkFault:
    link = (await invite(reception, a_new_user())).secret
    options = await ask_for_passkey(reception, link, randomness())
    assert options is not None
    joining = Joining(link, OPENER, HOME, randomness(), passkey=passkey.create(options))
    return await join_with_passkey(reception, joining)


async def test_a_passkey_alone_joins_and_signs_in(reception: SignInServices) -> None:
    passkey = a_passkey()
    joined = await join_by(reception, passkey)
    opened = await enter(reception, passkey.get(await ask(reception)))
    assert isinstance(joined, OpenedSession)
    assert isinstance(opened, OpenedSession)
    assert (opened.user_id, opened.by) == (joined.user_id, OpenedBy.PASSKEY)
    assert opened.secret != joined.secret
    wrong = await check_password(reception, "erika@example.org", "", HOME, randomness())
    assert wrong == WrongSignIn()


async def test_the_app_of_a_link_that_was_not_chosen_is_gone(reception: SignInServices) -> None:
    """Whoever saw the link knows its secret."""
    await join_by(reception, a_passkey())
    async with reception.resources.database.connection() as connection:
        kinds = await connection.fetch("SELECT kind FROM factors")
    assert [row[0] for row in kinds] == ["PASSKEY"]


async def test_what_is_asked_names_us_and_wants_the_user_verified(
    reception: SignInServices,
) -> None:
    asked = json.loads(await ask(reception))
    assert (asked["rpId"], asked["userVerification"]) == ("pay.example.org", "required")
    link = (await invite(reception, a_new_user())).secret
    made = json.loads(await ask_for_passkey(reception, link, randomness()) or "")
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
async def test_from_elsewhere_none_is_made_nor_used(
    reception: SignInServices, bent: dict[str, object]
) -> None:
    assert await join_by(reception, a_passkey(**bent)) is LinkFault.PASSKEY
    good = a_passkey()
    paul = await join(reception, a_new_user("paul@example.org", name="Paul"))
    person = await require(reception, paul.session)
    async with reception.work(person.actor) as work:
        options = await start_passkey(reception, work, person, randomness())
        assert await add_passkey(reception, work, person, good.create(options), "key")
    for name, value in bent.items():
        setattr(good, name, value)
    assert await enter(reception, good.get(await ask(reception))) == WrongSignIn()


async def test_a_replayed_answer_opens_nothing(reception: SignInServices) -> None:
    passkey = a_passkey(counts=False)
    await join_by(reception, passkey)
    answer = passkey.get(await ask(reception))
    assert isinstance(await enter(reception, answer), OpenedSession)
    assert await enter(reception, answer) == WrongSignIn()


async def test_of_two_same_answers_at_once_one_opens(reception: SignInServices) -> None:
    passkey = a_passkey(counts=False)
    await join_by(reception, passkey)
    answer = passkey.get(await ask(reception))
    outcomes = await asyncio.gather(*(
        sign_in_with_passkey(reception, answer, visitor, randomness()) for visitor in (HOME, AWAY)
    ))  # fmt: skip
    assert sum(isinstance(each, OpenedSession) for each in outcomes) == 1


async def test_a_challenge_of_nobody_opens_nothing(reception: SignInServices) -> None:
    passkey = a_passkey()
    await join_by(reception, passkey)
    made_up = json.dumps({"challenge": encode(bytes(32))})
    assert await enter(reception, passkey.get(made_up)) == WrongSignIn()


async def test_a_wrong_answer_uses_the_challenge_up(reception: SignInServices) -> None:
    passkey = a_passkey()
    await join_by(reception, passkey)
    options = await ask(reception)
    stranger = a_passkey(credential_id=passkey.credential_id)
    assert await enter(reception, stranger.get(options)) == WrongSignIn()
    assert await enter(reception, passkey.get(options)) == WrongSignIn()


@pytest.mark.parametrize(("after", "is_good"), [(-SECOND, True), (timedelta(), False)])
async def test_a_challenge_lasts_five_minutes(
    reception: SignInServices, clock: MovableClock, after: timedelta, is_good: bool
) -> None:
    passkey = a_passkey()
    await join_by(reception, passkey)
    options = await ask(reception)
    clock.advance(timedelta(minutes=5) + after)
    outcome = await enter(reception, passkey.get(options))
    assert isinstance(outcome, OpenedSession) is is_good


async def test_a_copied_key_that_counts_behind_is_refused(reception: SignInServices) -> None:
    passkey = a_passkey(count=5)
    await join_by(reception, passkey)
    assert isinstance(await enter(reception, passkey.get(await ask(reception))), OpenedSession)
    passkey.count = 5  # its next answer says 6, as the last one did
    assert await enter(reception, passkey.get(await ask(reception))) == WrongSignIn()


async def test_a_challenge_for_making_is_none_for_signing_in(reception: SignInServices) -> None:
    passkey = a_passkey()
    await join_by(reception, passkey)
    link = (await invite(reception, a_new_user("paul@example.org", name="Paul"))).secret
    options = await ask_for_passkey(reception, link, randomness())
    assert options is not None
    assert await enter(reception, passkey.get(options)) == WrongSignIn()


async def test_a_challenge_made_for_one_is_not_anothers(reception: SignInServices) -> None:
    theirs = (await invite(reception, a_new_user())).secret
    link = (await invite(reception, a_new_user("paul@example.org", name="Paul"))).secret
    options = await ask_for_passkey(reception, theirs, randomness())
    assert options is not None
    joining = Joining(link, OPENER, HOME, randomness(), passkey=a_passkey().create(options))
    assert await join_with_passkey(reception, joining) is LinkFault.PASSKEY
    assert await find_invitation(reception, link, OPENER) is not None


async def test_of_two_who_join_by_one_link_one_does(reception: SignInServices) -> None:
    link = (await invite(reception, a_new_user())).secret
    joinings = []
    for _ in range(2):
        options = await ask_for_passkey(reception, link, randomness())
        assert options is not None
        made = a_passkey().create(options)
        joinings.append(Joining(link, OPENER, HOME, randomness(), passkey=made))
    outcomes = await asyncio.gather(*(join_with_passkey(reception, each) for each in joinings))
    assert sum(isinstance(each, OpenedSession) for each in outcomes) == 1
    async with reception.resources.database.connection() as connection:
        made = await connection.fetchval("SELECT count(*) FROM factors WHERE kind = 'PASSKEY'")
    assert made == 1
    assert await ask_for_passkey(reception, link, randomness()) is None
    again = replace(joinings[0], randomness=randomness())
    assert await join_with_passkey(reception, again) is LinkFault.LINK


@pytest.mark.parametrize(
    "sent",
    [
        b"", b"{}", b"[]", b"null", b'"x"', b"\xff\xfe", b'{"rawId": 7, "response": {}}',
        b'{"rawId": "AA", "response": {"clientDataJSON": "e30"}}',
        b'{"rawId": "AA", "response": {"clientDataJSON": "eyJjaGFsbGVuZ2UiOiAiQUEifQ"}}',
    ],
)  # fmt: skip
async def test_rubbish_is_refused_and_no_fault(reception: SignInServices, sent: bytes) -> None:
    assert await enter(reception, sent) == WrongSignIn()
    link = (await invite(reception, a_new_user())).secret
    joining = Joining(link, OPENER, HOME, randomness(), passkey=sent)
    assert await join_with_passkey(reception, joining) is LinkFault.PASSKEY


async def test_an_answer_with_rubbish_inside_is_refused(reception: SignInServices) -> None:
    passkey = a_passkey()
    await join_by(reception, passkey)
    for name in ("authenticatorData", "signature"):
        answer = json.loads(passkey.get(await ask(reception)))
        answer["response"][name] = "AAAA"
        assert await enter(reception, json.dumps(answer).encode()) == WrongSignIn()


async def test_wrong_passkeys_are_counted_by_visitor(reception: SignInServices) -> None:
    passkey = a_passkey()
    await join_by(reception, passkey)
    for _ in range(MOST_WRONG):
        assert await enter(reception, a_passkey().get(await ask(reception))) == WrongSignIn()
    assert isinstance(await enter(reception, passkey.get(await ask(reception))), TooOften)


@pytest.mark.parametrize(
    ("url", "rp_id"),
    [
        ("http://localhost:8000", "localhost"), (ORIGIN, "pay.example.org"),
        ("http://127.0.0.1:8000", None), ("http://[::1]:8000", None),
    ],
)  # fmt: skip
def test_our_name_is_our_address_alone(url: str, rp_id: str | None) -> None:
    party = find_relying_party(url)
    assert (party and party.rp_id) == rp_id
    assert party is None or party.origin == url


async def test_at_a_number_there_are_none(resources: Resources, hasher: CountingHasher) -> None:
    with pytest.raises(NotFound):
        await ask(a_reception(resources, hasher))


@pytest.mark.parametrize(
    ("way", "seconds", "is_let"),
    [
        ("PASSKEY", 299, True), ("PASSKEY", 300, False), ("INVITATION", 299, True),
        ("INVITATION", 300, False), ("RECOVERY", 0, False), ("PASSWORD", 0, False),
    ],
)  # fmt: skip
async def test_without_a_password_the_passkey_must_have_been_shown_just_now(
    reception: SignInServices, clock: MovableClock, way: str, seconds: int, is_let: bool
) -> None:
    """Else whoever found a session that was left open would take the account."""
    opened = await join_by(reception, a_passkey())
    assert isinstance(opened, OpenedSession)
    async with reception.resources.database.connection() as connection:
        await connection.execute("UPDATE portal_sessions SET opened_by = $1", way)
    person = await require(reception, opened)
    clock.advance(timedelta(seconds=seconds))
    asking = SignInChange(person, "", HOME)
    assert await check_own_password(reception, asking) == (None if is_let else TooLongAgo())
    outcome = await change_password(reception, asking, PASSWORD, randomness())
    assert isinstance(outcome, OpenedSession) is is_let


async def test_another_session_of_theirs_says_nothing_of_this_one(
    reception: SignInServices, clock: MovableClock
) -> None:
    passkey = a_passkey()
    opened = await join_by(reception, passkey)
    assert isinstance(opened, OpenedSession)
    person = await require(reception, opened)
    clock.advance(timedelta(minutes=5))
    again = await enter(reception, passkey.get(await ask(reception)))
    assert isinstance(again, OpenedSession)
    assert await check_own_password(reception, SignInChange(person, "", HOME)) == TooLongAgo()
    newer = await require(reception, again)
    assert await check_own_password(reception, SignInChange(newer, "", HOME)) is None
