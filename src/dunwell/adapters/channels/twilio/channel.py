"""SMS through Twilio, or a provider with the same API: sending, delivery reports and received
messages.

Twilio does not recognise a message that is sent twice, so a message that it may have accepted is
never repeated. Its delivery reports come to an address that contains our reference, and are signed.
The signature is base64 of HMAC-SHA1 with the account's auth token, over the public address and the
form's fields ordered by name.
"""

import hmac
from base64 import b64encode
from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode

import msgspec

from dunwell.accounts.installation.delivery_providers import ProviderPace, TwilioProvider
from dunwell.accounts.merchants.configuration import Channel
from dunwell.adapters.channels.gateway import (
    REFUSED,
    ForgedRequest,
    Gateway,
    GatewayProblem,
    UnclearResponse,
    clean_text,
    is_phone_number,
    is_sms_sender,
)
from dunwell.contact.sending.channel import (
    Accepted,
    DeliveryProviderUnusable,
    Message,
    Outcome,
    Permanent,
    Temporary,
)
from dunwell.contact.sending.incoming_sms import ReceivedSms
from dunwell.contact.sending.references import build_reference
from dunwell.contact.sending.report import FailureCause, Reference, Report, ReportState
from dunwell.platform.crypto import KeyRing
from dunwell.platform.http.client import HttpResponse

_STATES: dict[str, ReportState] = {
    "delivered": "DELIVERED", "undelivered": "FAILED", "failed": "FAILED",
}  # fmt: skip
# Error numbers (https://www.twilio.com/docs/api/errors) that concern the recipient's number, and
# those that concern our account, sender or content.
_UNREACHABLE = frozenset({"21211", "21610", "21614", "30005"})
_ABOUT_US = frozenset({"21606", "30001", "30002", "30007", "30032", "30034", "30038"})
_MAX_ID_LENGTH = 100

Pairs = Sequence[tuple[str, str]]


def sign(token: bytes, address: str, pairs: Pairs) -> str:
    signed = address + "".join(name + value for name, value in sorted(set(pairs)))
    return b64encode(hmac.digest(token, signed.encode("utf-8", "surrogateescape"), "sha1")).decode()


def check_signature(token: bytes | None, address: str, pairs: Pairs, signature: str) -> None:
    """Check the signature. `address` is the public callback address that the provider called.
    Raises ForgedRequest."""
    is_right = token is not None and hmac.compare_digest(
        sign(token, address, pairs).encode(), signature.encode()
    )
    if not is_right:
        raise ForgedRequest("The signature is wrong.")


def parse_report(
    provider: str, reference: Reference | None, pairs: Pairs, raw: bytes
) -> Report | None:
    """Return the report of a request with a valid signature, or None if it is not final.
    `reference` is None if the callback address contains no valid reference."""
    values = dict(pairs)
    state = _STATES.get(values.get("MessageStatus", ""))
    if state is None:
        return None
    code = values.get("ErrorCode", "")
    code = code if code.isascii() and code.isdecimal() and len(code) < 8 else ""
    has_failed = state == "FAILED"
    reason = f"The provider reported error {code or 'without a number'}." if has_failed else ""
    return Report(
        provider=provider,
        provider_message_id=clean_text(values.get("MessageSid", ""), _MAX_ID_LENGTH),
        state=state,
        happened_at=None,
        reference=reference,
        reason=reason,
        cause=_find_cause(code) if has_failed else "OTHER",
        raw=raw,
    )


def _find_cause(code: str) -> FailureCause:
    if code in _UNREACHABLE:
        return "ADDRESS"
    return "ABOUT_US" if code in _ABOUT_US else "OTHER"


def parse_incoming(provider: str, pairs: Pairs) -> ReceivedSms:
    """Return the message of a request with a valid signature."""
    values = dict(pairs)
    return ReceivedSms(
        provider=provider,
        provider_message_id=clean_text(values.get("MessageSid", ""), _MAX_ID_LENGTH),
        sender=clean_text(values.get("From", ""), 40),
        recipient=clean_text(values.get("To", ""), 20),
        text=clean_text(values.get("Body", ""), 1_600),
    )


_DEFAULT_RETRY_SECONDS = 30
_MAX_TEXT_LENGTH = 1_600
# The number does not exist, cannot receive SMS, or its owner has unsubscribed at the provider.
_UNREACHABLE_ON_SENDING = frozenset({21211, 21214, 21217, 21610, 21614})
# This message cannot be sent to this number, but another channel may work.
_NOT_SENDABLE = frozenset({21408, 21612, 21617, 21635, 30006})


class _ResponseFields(msgspec.Struct, frozen=True):
    """The fields of a response."""

    sid: str = ""
    code: int | None = None


class TwilioChannel:
    """A `ProviderAdapter` for Twilio."""

    channel: Channel = "SMS"
    is_repeatable = False

    def __init__(
        self, name: str, provider: TwilioProvider, secrets: Mapping[str, bytes], keys: KeyRing,
        public_url: str,
    ) -> None:  # fmt: skip
        """`secrets` are those of the installation file. Raises DeliveryProviderUnusable."""
        self.name = name
        self._provider = provider
        self._keys = keys
        self._callbacks = f"{public_url}/callbacks/channels/{name}"
        token = secrets.get(f"deliveryProviders/{name}/credentials/passwordFile")
        if token is None:
            raise DeliveryProviderUnusable(
                "The account's auth token is missing. Apply the installation file again."
            )
        user = provider.credentials.user
        self._authorization = f"Basic {b64encode(user.encode() + b':' + token).decode()}"
        account = f"/2010-04-01/Accounts/{quote(user, safe='')}/Messages.json"
        self._url = provider.server.rstrip("/") + account
        self._gateway = Gateway(name, provider.networks, connections=provider.pace.at_once)

    @property
    def pace(self) -> ProviderPace:
        return self._provider.pace

    async def send(self, message: Message) -> Outcome:
        """Send a message. Raises UnclearResponse."""
        if not is_phone_number(message.recipient):
            return Permanent("The mobile number is not in international format.")
        if not is_sms_sender(message.sender):
            return Permanent("The sender must be a number or a name of 1 to 11 characters.")
        if len(message.body_text) > _MAX_TEXT_LENGTH:
            return Permanent(f"The text is longer than {_MAX_TEXT_LENGTH} characters.")
        reference = build_reference(self._keys, message.merchant_id, message.communication_id)
        form = {
            "To": message.recipient,
            "From": message.sender,
            "Body": message.body_text,
            "StatusCallback": f"{self._callbacks}/{reference}",
        }
        headers = {
            "Authorization": self._authorization,
            "Content-Type": "application/x-www-form-urlencoded",
        }
        answer = await self._gateway.post(self._url, urlencode(form).encode(), headers)
        return answer if isinstance(answer, Temporary) else self._interpret(answer)

    def _interpret(self, answer: HttpResponse) -> Outcome:
        response = _parse_response(answer.start)
        match answer.status:
            case 200 | 201 if response is not None and response.sid:
                return Accepted(response.sid[:100])
            case 429:
                seconds = _parse_retry_after(answer.headers.get("Retry-After", ""))
                return Temporary(seconds, "The provider asks to be called later: 429.")
            case 400 if response is not None and response.code is not None:
                return self._refuse(response.code, answer.status)
            case status if 400 <= status < 500:
                return self._gateway.log_refusal(status)
            case status:
                raise UnclearResponse(str(status))

    def _refuse(self, code: int, status: int) -> Outcome:
        if code in _UNREACHABLE_ON_SENDING:
            reason = f"The provider cannot reach this number: error {code}."
            return Permanent(reason, "ADDRESS")
        if code in _NOT_SENDABLE:
            return Permanent(f"The provider rejects the message: error {code}.")
        # The sender or the account is at fault, not the recipient.
        self._gateway.log_refusal(status)
        return REFUSED

    async def check(self) -> GatewayProblem | None:
        """Test the connection with a message without a recipient, and return what is wrong, or
        None. The provider tells an authorised client that the recipient is missing."""
        headers = {
            "Authorization": self._authorization,
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return await self._gateway.probe(self._url, b"", headers, expected_status=400)

    async def close(self) -> None:
        await self._gateway.close()


def _parse_response(content: bytes) -> _ResponseFields | None:
    """Return the fields, or None if the response does not follow the API or was cut because it is
    too long."""
    try:
        return msgspec.json.decode(content, type=_ResponseFields)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _parse_retry_after(text: str) -> int:
    return (
        min(int(text), 3_600)
        if text.isascii() and text.isdecimal() and len(text) < 6
        else _DEFAULT_RETRY_SECONDS
    )
