"""The token and the codes a notice can bear, and their masks in what is stored.

All are derived from the installation's key and the notice's id, as those of messages are
(`contact.messages.links`, `contact.messages.codes`): none is kept. `key_version` is that of the
secret key when the
notice was planned; none: the one in use.
"""

import base64
import hmac
from uuid import UUID

from dunwell.contact.messages.claim_links import (
    CODE_MASK,
    TOKEN_MASK,
    derive_code,
    render_code,
    unmask_check,
)
from dunwell.contact.notices.notice import NoticeKind
from dunwell.platform.crypto import KeyRing

# Stands for the code wherever a notice is stored; as long as what it stands for.
NOTICE_CODE_MASK = "_code_"
_DIGITS = len(NOTICE_CODE_MASK)
_TOKEN_BYTES = 16
_LINK, _CODE = "notice-link", "notice-code"
_BEARS_TOKEN = frozenset(
    {NoticeKind.LINK, NoticeKind.ANSWER, NoticeKind.REMINDER, NoticeKind.CONFIRMATION}
)
_BEARS_CODE = frozenset({NoticeKind.CODE, NoticeKind.CHANGE_CODE})


def derive_notice_token(keys: KeyRing, notice_id: UUID, key_version: int | None = None) -> str:
    """128 bits, as 22 characters of URL-safe base64."""
    digest = keys.digest(_LINK, notice_id.bytes, key_version)
    return base64.urlsafe_b64encode(digest[:_TOKEN_BYTES]).rstrip(b"=").decode()


def derive_notice_code(keys: KeyRing, notice_id: UUID, key_version: int | None = None) -> str:
    """Six digits, each as likely as any other."""
    number = int.from_bytes(keys.digest(_CODE, notice_id.bytes, key_version))
    return f"{number % 10**_DIGITS:0{_DIGITS}d}"


def is_notice_code(
    keys: KeyRing, notice_id: UUID, typed: str, key_version: int | None = None
) -> bool:
    """Whether somebody typed this notice's code, in whatever groups. How often, and until when, is
    for who asks to count."""
    given = "".join(typed.split()).replace("-", "")
    code = derive_notice_code(keys, notice_id, key_version)
    return hmac.compare_digest(code.encode(), given.encode())


def bears_token(kind: NoticeKind) -> bool:
    """Whether its words may have a link."""
    return kind in _BEARS_TOKEN


def bears_check(kind: NoticeKind) -> bool:
    """Whether it bears a code to check it by; two codes in one message would be mixed up."""
    return kind not in _BEARS_CODE


def unmask(
    keys: KeyRing, kind: NoticeKind, notice_id: UUID, text: str, key_version: int | None = None
) -> str:
    """Stored content as it leaves the house: the kind's own secrets, and no others."""
    if kind in _BEARS_CODE:
        return text.replace(NOTICE_CODE_MASK, derive_notice_code(keys, notice_id, key_version))
    if kind in _BEARS_TOKEN:
        # A letter bears a code too.
        code = render_code(derive_code(keys, notice_id, key_version))
        token = derive_notice_token(keys, notice_id, key_version)
        text = text.replace(TOKEN_MASK, token).replace(CODE_MASK, code)
    return unmask_check(keys, notice_id, text, key_version)
