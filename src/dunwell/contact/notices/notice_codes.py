"""The link token and the codes of a notice, and their masks in stored content.

All are derived from the secret key of the installation and the id of the notice, like those of
contacts (`contact.messages.claim_links`), and never stored. `key_version` is the version of the
secret key with which the notice was planned; None means the current version.
"""

import base64
import hmac
from uuid import UUID

from dunwell.contact.messages.claim_links import (
    CODE_MASK,
    TOKEN_MASK,
    derive_code,
    render_code,
    unmask_check_code,
)
from dunwell.contact.notices.notice import NoticeKind
from dunwell.platform.crypto import KeyRing

# Replaces the code wherever a notice is stored; it has the length of a code.
NOTICE_CODE_MASK = "_code_"
_DIGITS = len(NOTICE_CODE_MASK)
_TOKEN_BYTES = 16
_LINK, _CODE = "notice-link", "notice-code"
_KINDS_WITH_TOKEN = frozenset(
    {NoticeKind.LINK, NoticeKind.ANSWER, NoticeKind.REMINDER, NoticeKind.CONFIRMATION}
)
_KINDS_WITH_CODE = frozenset({NoticeKind.CODE, NoticeKind.CHANGE_CODE})


def derive_notice_token(keys: KeyRing, notice_id: UUID, key_version: int | None = None) -> str:
    """Return the 128-bit token as 22 characters of URL-safe base64."""
    digest = keys.digest(_LINK, notice_id.bytes, key_version)
    return base64.urlsafe_b64encode(digest[:_TOKEN_BYTES]).rstrip(b"=").decode()


def derive_notice_code(keys: KeyRing, notice_id: UUID, key_version: int | None = None) -> str:
    """Return six uniformly distributed digits."""
    number = int.from_bytes(keys.digest(_CODE, notice_id.bytes, key_version))
    return f"{number % 10**_DIGITS:0{_DIGITS}d}"


def is_notice_code(
    keys: KeyRing, notice_id: UUID, typed: str, key_version: int | None = None
) -> bool:
    """Return whether the typed text is the code of this notice; grouping does not matter. The
    caller limits attempts and time."""
    typed_code = "".join(typed.split()).replace("-", "")
    code = derive_notice_code(keys, notice_id, key_version)
    return hmac.compare_digest(code.encode(), typed_code.encode())


def has_token(kind: NoticeKind) -> bool:
    """Return whether a notice of this kind may contain a link."""
    return kind in _KINDS_WITH_TOKEN


def has_check_code(kind: NoticeKind) -> bool:
    """Return whether a notice of this kind contains a check code. A notice that only delivers
    a code (CODE, CHANGE_CODE) has none, because recipients would confuse the two."""
    return kind not in _KINDS_WITH_CODE


def unmask_notice(
    keys: KeyRing, kind: NoticeKind, notice_id: UUID, text: str, key_version: int | None = None
) -> str:
    """Return stored content with the token and codes of this kind of notice in place of their
    masks."""
    if kind in _KINDS_WITH_CODE:
        return text.replace(NOTICE_CODE_MASK, derive_notice_code(keys, notice_id, key_version))
    if kind in _KINDS_WITH_TOKEN:
        # A letter also contains a code.
        code = render_code(derive_code(keys, notice_id, key_version))
        token = derive_notice_token(keys, notice_id, key_version)
        text = text.replace(TOKEN_MASK, token).replace(CODE_MASK, code)
    return unmask_check_code(keys, notice_id, text, key_version)
