"""DKIM signatures are valid for other mail servers."""

import subprocess
import sys

import dkim
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from dunwell.adapters.channels.internet_message import build_internet_message
from dunwell.adapters.channels.smtp.channel import open_signer
from dunwell.contact.sending.channel import DeliveryProviderUnusable
from tests.support.messages import a_message
from tests.support.smtp_providers import a_provider

_LINE = a_provider(25, dkim={"domain": "nordwind.example", "selector": "dunwell", "keyFile": "k"})
_NAME = "deliveryProviders/post/dkim/keyFile"


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def render_private(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def test_a_signed_message_is_valid_and_a_changed_one_is_not(key: rsa.RSAPrivateKey) -> None:
    signer = open_signer("post", _LINE, {_NAME: render_private(key)})
    assert signer is not None
    signed = signer.sign(build_internet_message(a_message()))
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    record = b"v=DKIM1; k=rsa; p=" + b"".join(public.split(b"\n")[1:-2])

    def look_up(name: bytes, timeout: int = 5) -> bytes:
        assert (name, timeout) == (b"dunwell._domainkey.nordwind.example.", 5)
        return record

    assert dkim.verify(signed, dnsfunc=look_up)
    assert not dkim.verify(signed.replace(b"Erinnerung", b"Mahnung"), dnsfunc=look_up)


@pytest.mark.parametrize("secrets", [{}, {_NAME: b"no key"}])
def test_an_invalid_key_is_reported(secrets: dict[str, bytes]) -> None:
    with pytest.raises(DeliveryProviderUnusable, match="RSA private key"):
        open_signer("post", _LINE, secrets)


_OPEN_SIGNERS_WITHOUT_DKIM = """
import sys
sys.modules["dkim"] = None  # Importing dkim now raises ImportError.
from dunwell.adapters.channels.smtp.channel import open_signer
from tests.support.smtp_providers import a_provider
assert open_signer("post", a_provider(25), {}) is None
dkim = {"domain": "nordwind.example", "selector": "dunwell", "keyFile": "k"}
open_signer("post", a_provider(25, dkim=dkim), {})
"""


def test_without_the_extra_the_error_says_what_to_install() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _OPEN_SIGNERS_WITHOUT_DKIM],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "DeliveryProviderUnusable: DKIM needs the extra" in done.stderr
    assert 'install "dunwell[dkim]"' in done.stderr
