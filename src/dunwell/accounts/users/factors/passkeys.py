"""Build the requests to a browser's passkeys, and verify its responses (WebAuthn).

The origin comes from DUNWELL_PUBLIC_URL, never from the request's host. A passkey must verify its
user, so it counts as two factors. Browsers refuse passkeys for IP addresses, so they cannot be used
if the public URL contains one.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import webauthn
from webauthn.helpers import base64url_to_bytes
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

CHALLENGE_BYTES = 32
_RELYING_PARTY_NAME = "Dunwell"
_TIMEOUT_MILLISECONDS = 120_000
_VERIFICATION_REQUIRED = UserVerificationRequirement.REQUIRED


class PasskeyRefused(Exception):  # noqa: N818 - the suffix Error would add nothing
    """The response does not match the request."""


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """The site that passkeys are bound to (WebAuthn's relying party)."""

    origin: str
    rp_id: str


@dataclass(frozen=True, slots=True)
class PasskeyResponse:
    """A browser's response, parsed but not verified."""

    credential: dict[str, Any]
    credential_id: bytes
    challenge: bytes


@dataclass(frozen=True, slots=True)
class RegisteredPasskey:
    credential_id: bytes
    public_key: bytes
    sign_count: int


def find_relying_party(public_url: str) -> RelyingParty | None:
    """Return the relying party, or None if passkeys cannot be used on this site."""
    host = urlsplit(public_url).hostname or ""
    try:
        ip_address(host)
    except ValueError:
        return RelyingParty(public_url, host) if host else None
    return None


def parse_passkey_response(body: bytes) -> PasskeyResponse:
    """Parse the browser's response. Raises PasskeyRefused."""
    try:
        credential = json.loads(body)
        client_data = json.loads(base64url_to_bytes(credential["response"]["clientDataJSON"]))
        challenge = base64url_to_bytes(client_data["challenge"])
        return PasskeyResponse(credential, base64url_to_bytes(credential["rawId"]), challenge)
    except Exception as error:
        raise PasskeyRefused from error


def render_registration(
    party: RelyingParty, user_id: UUID, email: str, name: str, *, challenge: bytes,
    known: Sequence[bytes],
) -> str:  # fmt: skip
    """Return the options of navigator.credentials.create() as JSON. `known` has the ids of the
    passkeys that the user already has."""
    options = webauthn.generate_registration_options(
        rp_id=party.rp_id,
        rp_name=_RELYING_PARTY_NAME,
        user_id=user_id.bytes,
        user_name=email,
        user_display_name=name,
        challenge=challenge,
        timeout=_TIMEOUT_MILLISECONDS,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED, user_verification=_VERIFICATION_REQUIRED
        ),
        exclude_credentials=[PublicKeyCredentialDescriptor(id=each) for each in known],
    )
    return webauthn.options_to_json(options)


def render_authentication(party: RelyingParty, challenge: bytes) -> str:
    """Return the options of navigator.credentials.get() as JSON. Any registered passkey
    may answer.
    """
    options = webauthn.generate_authentication_options(
        rp_id=party.rp_id,
        challenge=challenge,
        timeout=_TIMEOUT_MILLISECONDS,
        user_verification=_VERIFICATION_REQUIRED,
    )
    return webauthn.options_to_json(options)


def check_registration(
    party: RelyingParty, response: PasskeyResponse, challenge: bytes
) -> RegisteredPasskey:
    """Verify a registration. Raises PasskeyRefused, whatever the library raises for a malformed
    response."""
    try:
        verified = webauthn.verify_registration_response(
            credential=response.credential,
            expected_challenge=challenge,
            expected_rp_id=party.rp_id,
            expected_origin=party.origin,
            require_user_verification=True,
        )
    except Exception as error:
        raise PasskeyRefused from error
    return RegisteredPasskey(
        verified.credential_id, verified.credential_public_key, verified.sign_count
    )


def check_authentication(
    party: RelyingParty,
    response: PasskeyResponse,
    challenge: bytes,
    *,
    public_key: bytes,
    sign_count: int,
) -> int:
    """Verify a sign-in and return the passkey's new counter. Raises PasskeyRefused."""
    try:
        verified = webauthn.verify_authentication_response(
            credential=response.credential,
            expected_challenge=challenge,
            expected_rp_id=party.rp_id,
            expected_origin=party.origin,
            credential_public_key=public_key,
            credential_current_sign_count=sign_count,
            require_user_verification=True,
        )
    except Exception as error:
        raise PasskeyRefused from error
    return verified.new_sign_count
