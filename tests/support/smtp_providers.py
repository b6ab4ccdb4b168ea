"""SMTP delivery providers for tests."""

from typing import Any

import msgspec

from dunwell.accounts.installation.delivery_providers import SmtpProvider

RETURN_DOMAIN = "returns.example.com"


def a_provider(port: int, **given: Any) -> SmtpProvider:
    document = {
        "adapter": "smtp", "channel": "EMAIL", "server": f"127.0.0.1:{port}",
        "encryption": "NONE", "returnDomain": RETURN_DOMAIN,
    }  # fmt: skip
    return msgspec.convert({**document, **given}, SmtpProvider)
