"""Self-signed TLS certificates for tests."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID


def write_certificate(
    folder: Path, host: str, *, lasts: timedelta = timedelta(days=1)
) -> ssl.SSLContext:
    """Write certificate.pem and key.pem, and return the TLS context of a server that uses them. The
    certificate is valid from a moment ago for `lasts`; if that is negative, it has expired."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=2))
        .not_valid_after(now + lasts)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    written, key_file = folder / "certificate.pem", folder / "key.pem"
    written.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(written, key_file)
    return context


def write_authority(folder: Path, *hosts: str) -> Path:
    """Write certificate.pem and key.pem for the hosts, and return the certificate of the authority
    that signed them."""
    now = datetime.now(UTC)
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "An authority of tests")])

    def build(name: x509.Name, public_key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        builder = x509.CertificateBuilder(issuer, name, public_key, x509.random_serial_number())
        return builder.not_valid_before(now).not_valid_after(now + timedelta(days=1))

    own = build(issuer, authority_key.public_key()).add_extension(
        x509.BasicConstraints(ca=True, path_length=None), critical=True
    )
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])])
    named = x509.SubjectAlternativeName([x509.DNSName(each) for each in hosts])
    signed = build(name, key.public_key()).add_extension(named, critical=False)
    encoding = serialization.Encoding.PEM
    for file, builder in (("authority.pem", own), ("certificate.pem", signed)):
        made = builder.sign(authority_key, SHA256())
        (folder / file).write_bytes(made.public_bytes(encoding))
    (folder / "key.pem").write_bytes(
        key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder / "authority.pem"
