"""What an attempt to sign in at a provider goes by: all of it derived from the secret of the
browser's cookie and the secret key, so that neither the database nor the browser holds it. Pure.
"""

import base64
import hmac
from dataclasses import dataclass
from datetime import timedelta

from dunwell.kit.crypto import KeyRing

# From leaving to coming back.
ATTEMPT_LASTS = timedelta(minutes=10)
_STATE, _NONCE, _VERIFIER = "sign-in-state", "sign-in-nonce", "sign-in-verifier"


@dataclass(frozen=True, slots=True)
class AttemptSecrets:
    """`state` comes back with the browser, `nonce` in the token; `verifier` (PKCE) goes to the
    provider alone, with the code."""

    state: str
    nonce: str
    verifier: str

    def is_state(self, given: str) -> bool:
        return hmac.compare_digest(self.state.encode(), given.encode())


def derive_secrets(keys: KeyRing, cookie: str) -> AttemptSecrets:
    """cookie: the attempt's secret. By the oldest version of the key: one that comes into use
    meanwhile spoils nothing."""
    version = min(keys.versions)

    def derive(purpose: str) -> str:
        digest = keys.digest(purpose, cookie.encode(), version)
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    return AttemptSecrets(derive(_STATE), derive(_NONCE), derive(_VERIFIER))
