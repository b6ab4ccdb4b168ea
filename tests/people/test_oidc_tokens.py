"""Validation of ID tokens: a token with any fault is refused."""

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey

from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.single_sign_on.sign_on import SignOnCompleted, SignOnFailure
from tests.support.scripted_identity_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    LOGOUT_EVENT,
    Claims,
    a_key,
    sign,
)
from tests.support.single_sign_on import SingleSignOnHarness, a_single_sign_on_harness


@pytest.fixture
async def harness(services: SignInServices) -> AsyncIterator[SingleSignOnHarness]:
    async with a_single_sign_on_harness(services) as harness:
        yield harness


async def expect_refusal(harness: SingleSignOnHarness, outcome: object) -> None:
    assert outcome is SignOnFailure.REJECTED
    assert await harness.count("users") == 0
    assert await harness.count("portal_sessions") == 0
    [act] = await harness.list_audit_entries()
    assert act == ("session.refuse", None, {"provider": "kontor", "reason": "TOKEN"})


def unsigned(claims: Claims, _key: ECKey) -> str:
    parts = [{"alg": "none", "typ": "JWT"}, claims]
    shown = [base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=") for each in parts]
    return b".".join(shown).decode() + "."


def keyed_by_the_secret(claims: Claims, _key: ECKey) -> str:
    key = OctKey.import_key(CLIENT_SECRET.ljust(32, "x"))
    return jwt.encode({"alg": "HS256", "kid": "first"}, claims, key, algorithms=["HS256"])


def keyed_by_the_public_key(claims: Claims, key: ECKey) -> str:
    """Sign with the public key as a shared secret, against verifiers that trust the token's
    algorithm."""
    public = OctKey.import_key(str(key.as_dict(private=False)["x"]))
    return jwt.encode({"alg": "HS256", "kid": "first"}, claims, public, algorithms=["HS256"])


def by_another_key(claims: Claims, _key: ECKey) -> str:
    return sign(claims, a_key("first"))


def by_an_unknown_key(claims: Claims, _key: ECKey) -> str:
    return sign(claims, a_key("second"))


def with_embedded_key(claims: Claims, _key: ECKey) -> str:
    own = a_key("own")
    header = {"alg": "ES256", "jwk": own.as_dict(private=False)}
    return jwt.encode(header, claims, own, algorithms=["ES256"])


def changed_after_signing(claims: Claims, key: ECKey) -> str:
    head, _, end = sign(claims, key).split(".")
    changed = base64.urlsafe_b64encode(json.dumps({**claims, "sub": "boss"}).encode())
    return f"{head}.{changed.rstrip(b'=').decode()}.{end}"


def no_token(_claims: Claims, _key: ECKey) -> str:
    return "gravel"


def none_at_all(_claims: Claims, _key: ECKey) -> str:
    return ""


def too_long(claims: Claims, key: ECKey) -> str:
    return sign({**claims, "more": "x" * 64_000}, key)


@pytest.mark.parametrize(
    "signing",
    [
        unsigned, keyed_by_the_secret, keyed_by_the_public_key, by_another_key, by_an_unknown_key,
        with_embedded_key, changed_after_signing, no_token, none_at_all, too_long,
    ],
    ids=lambda each: each.__name__,
)  # fmt: skip
async def test_a_token_not_signed_by_the_provider_is_refused(
    harness: SingleSignOnHarness, signing: Any
) -> None:
    harness.scripted.signing = signing
    await expect_refusal(harness, await harness.sign_in_at_provider())


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "of another attempt"}, {"nonce": None}, {"nonce": ""}, {"nonce": ["x"]},
        {"aud": "somebody-else"}, {"aud": None}, {"aud": []}, {"aud": {"x": 1}},
        {"aud": [CLIENT_ID, "other"]}, {"aud": [CLIENT_ID, "other"], "azp": "other"},
        {"azp": "other"},
        {"iss": "https://login.example.com"}, {"iss": None},
        {"sub": None}, {"sub": ""}, {"sub": 7}, {"sub": "x" * 256}, {"sub": "a\nb"},
        {"exp": None}, {"exp": "tomorrow"}, {"iat": None},
        {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"},
        {"amr": "pwd"},
    ],
    ids=str,
)  # fmt: skip
async def test_a_token_with_wrong_claims_is_refused(
    harness: SingleSignOnHarness, claims: Claims
) -> None:
    await expect_refusal(harness, await harness.sign_in_at_provider(**claims))


@pytest.mark.parametrize(
    ("claim", "seconds", "expected"),
    [
        ("exp", -59, SignOnCompleted), ("exp", -60, SignOnFailure), ("exp", -61, SignOnFailure),
        ("iat", 60, SignOnCompleted), ("iat", 61, SignOnFailure), ("nbf", 60, SignOnCompleted),
        ("nbf", 61,
        SignOnFailure),
    ],
)  # fmt: skip
async def test_clocks_may_differ_by_a_minute(
    harness: SingleSignOnHarness, claim: str, seconds: int, expected: type
) -> None:
    now = int(harness.clock.now().timestamp())
    claims: Claims = {claim: now + seconds}
    assert isinstance(await harness.sign_in_at_provider(**claims), expected)


async def test_a_logout_token_is_not_accepted_as_id_token(harness: SingleSignOnHarness) -> None:
    claims: Claims = {"events": {LOGOUT_EVENT: {}}, "jti": "j", "nonce": None}
    await expect_refusal(harness, await harness.sign_in_at_provider(**claims))


async def test_a_token_with_several_audiences_needs_us_as_authorized_party(
    harness: SingleSignOnHarness,
) -> None:
    several: Claims = {"aud": ["other", CLIENT_ID], "azp": CLIENT_ID}
    assert isinstance(await harness.sign_in_at_provider(**several), SignOnCompleted)


async def test_userinfo_of_another_subject_is_refused(harness: SingleSignOnHarness) -> None:
    harness.scripted.userinfo = {"sub": "somebody else", "groups": ["dunwell-admins"]}
    await expect_refusal(harness, await harness.sign_in_at_provider(groups=None))


async def test_groups_and_address_may_come_from_userinfo(harness: SingleSignOnHarness) -> None:
    harness.scripted.userinfo = {
        "sub": "erika-0001", "groups": ["dunwell-auditors"], "email": "e.m@example.org",
        # Only the token says how and in which session the user signed in.
        "sid": "another", "iss": "https://evil.example", "amr": ["mfa"],
    }  # fmt: skip
    await harness.change_provider(amr_values=("mfa",))
    weak = await harness.sign_in_at_provider(groups=None, email=None)
    assert getattr(weak, "reason", None) == "WEAK"
    await harness.complete_sign_in(groups=None, email=None, amr=["mfa", "pwd"])
    async with harness.resources.database.connection() as connection:
        row = await connection.fetchrow("SELECT email, global_role FROM users")
    assert tuple(row or ()) == ("e.m@example.org", "AUDITOR")
