"""A passkey in software with P-256 keys, which answers as a browser does (WebAuthn level 3).

Its answers can be forged as an attacker would: another origin, another name, no user verification.
"""

import hashlib
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

_PRESENT, _VERIFIED, _WITH_KEY = 0x01, 0x04, 0x40


def encode(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class SoftwarePasskey:
    origin: str
    rp_id: str
    verifies_user: bool = True
    # Zero means that the passkey does not count.
    count: int = 0
    counts: bool = True
    credential_id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )

    def create(self, options: str) -> bytes:
        """Return what a browser sends after navigator.credentials.create()."""
        given = json.loads(options)
        public = self.key.public_key().public_numbers()
        cose = {1: 2, 3: -7, -1: 1, -2: public.x.to_bytes(32), -3: public.y.to_bytes(32)}
        attested = bytes(16) + len(self.credential_id).to_bytes(2) + self.credential_id
        data = self._authenticator_data(_WITH_KEY) + attested + cbor2.dumps(cose)
        attestation = {"fmt": "none", "attStmt": {}, "authData": data}
        return self._send({
            "clientDataJSON": encode(self._client_data("webauthn.create", given["challenge"])),
            "attestationObject": encode(cbor2.dumps(attestation)),
        })  # fmt: skip

    def get(self, options: str) -> bytes:
        """Return what a browser sends after navigator.credentials.get()."""
        given = json.loads(options)
        if self.counts:
            self.count += 1
        client_data = self._client_data("webauthn.get", given["challenge"])
        data = self._authenticator_data(0)
        signed = data + hashlib.sha256(client_data).digest()
        return self._send({
            "clientDataJSON": encode(client_data),
            "authenticatorData": encode(data),
            "signature": encode(self.key.sign(signed, ec.ECDSA(SHA256()))),
        })  # fmt: skip

    def _client_data(self, kind: str, challenge: str) -> bytes:
        client_data = {
            "type": kind,
            "challenge": challenge,
            "origin": self.origin,
            "crossOrigin": False,
        }
        return json.dumps(client_data).encode()

    def _authenticator_data(self, more: int) -> bytes:
        flags = _PRESENT | (_VERIFIED if self.verifies_user else 0) | more
        name = hashlib.sha256(self.rp_id.encode()).digest()
        return name + bytes([flags]) + self.count.to_bytes(4)

    def _send(self, response: dict[str, Any]) -> bytes:
        sent = {
            "id": encode(self.credential_id), "rawId": encode(self.credential_id),
            "type": "public-key", "clientExtensionResults": {}, "response": response,
        }  # fmt: skip
        return json.dumps(sent).encode()
