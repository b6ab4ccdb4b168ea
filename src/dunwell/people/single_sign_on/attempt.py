"""What an attempt to sign in at a provider goes by: all of it derived from the secret of the
browser's cookie and the secret key, so that neither the database nor the browser holds it.
"""

import base64
from datetime import timedelta

from dunwell.kit.crypto import KeyRing
from dunwell.people.single_sign_on.provider import AttemptSecrets

# From leaving to coming back.
ATTEMPT_LASTS = timedelta(minutes=10)
_STATE, _NONCE, _VERIFIER = "sign-in-state", "sign-in-nonce", "sign-in-verifier"


def derive_secrets(keys: KeyRing, cookie: str) -> AttemptSecrets:
    """cookie: the attempt's secret. By the oldest version of the key: one that comes into use
    meanwhile spoils nothing."""
    version = min(keys.versions)

    def derive(purpose: str) -> str:
        digest = keys.digest(purpose, cookie.encode(), version)
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    return AttemptSecrets(derive(_STATE), derive(_NONCE), derive(_VERIFIER))
