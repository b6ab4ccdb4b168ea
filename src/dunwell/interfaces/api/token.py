"""The token endpoint: its description, and issuing a token for a client id and secret."""

import base64
import binascii
import secrets
import time
from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote_plus

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from dunwell.accounts.merchants.credentials.tokens import (
    SECRET_RANDOM_BYTES,
    NewCredential,
    digest_client_network,
    issue_token_with_limit,
    log_refused_token_request,
)
from dunwell.interfaces.api.answer import JSON, build_crash_response
from dunwell.interfaces.api.metrics import RequestMetrics
from dunwell.interfaces.api.operation import ApiServices, Operation, RequestBody
from dunwell.interfaces.api.schemas.service import Token
from dunwell.platform.errors import (
    AuthenticationError,
    InvalidRequest,
    MethodNotAllowed,
    RateLimited,
    Refusal,
    Unavailable,
)
from dunwell.platform.http.requests import BodyTooLarge, get_request_id, read_body

OBTAIN_TOKEN = Operation(
    operation_id="obtainToken",
    method="POST",
    path="/token",
    tag="Authentication",
    summary="Obtain a token",
    description=(
        "The client-credentials grant of OAuth 2.0 (RFC 6749). Send the credentials as form "
        "fields or with HTTP Basic. The token is valid for one hour; then request a new one. "
        "Responses have no envelope, as OAuth clients expect. After twenty wrong client secrets "
        "from one address within five minutes, for any client id, the response is 429 with "
        "Retry-After."
    ),
    body=RequestBody(
        media_type="application/x-www-form-urlencoded",
        shape={
            "type": "object",
            "required": ["grant_type"],
            "properties": {
                "grant_type": {"type": "string", "const": "client_credentials"},
                "client_id": {
                    "type": "string",
                    "description": "Required unless sent with HTTP Basic.",
                },
                "client_secret": {
                    "type": "string",
                    "description": "Required unless sent with HTTP Basic.",
                },
            },
        },
        example={
            "grant_type": "client_credentials",
            "client_id": "dwc_Zk3VJ0yq1m8r2d0oYt6pXw",
            "client_secret": "dws_3q2-7wTzQ9fA0kLm5nPbVcXyRtEuIoPaSdFgHjKlZxC",
        },
    ),
    result=Token,
    example={
        "access_token": "dwt_mN4bV7cX1zL8kJ5hG2fD9sA6pO3iU0yT7rE4wQ1aZsX",
        "token_type": "bearer",
        "expires_in": 3600,
    },
    has_envelope=False,
    needs_token=False,
)


_FORM = "application/x-www-form-urlencoded"
# A low limit, because the sender is not authenticated yet. An id and a secret take a few hundred
# bytes.
_MAX_BYTES = 8 * 1024
_CHALLENGE = {"WWW-Authenticate": 'Basic realm="dunwell", charset="UTF-8"'}


class _UnsupportedGrant(InvalidRequest):
    """The grant type is not supported. RFC 6749, 5.2 has its own error code for this."""


async def serve_token(
    services: ApiServices, request_metrics: RequestMetrics, request: Request
) -> Response:
    started = time.perf_counter()
    try:
        response = await _issue_token(services, request)
    except Refusal as refusal:
        response = build_oauth_refusal_response(refusal)
    except Exception as error:  # noqa: BLE001 - a crash is logged, and gets a response
        request_id = get_request_id(request.scope, services.resources)
        # This logs the error. Its response is not used, because OAuth clients expect another form.
        build_crash_response(error, request_id, OBTAIN_TOKEN.path)
        response = _build_error_response(
            500, "server_error", "Try again. If it fails again, inform the operator."
        )
    request_metrics.count(OBTAIN_TOKEN, response.status_code, time.perf_counter() - started)
    return response


def build_oauth_refusal_response(refusal: Refusal) -> Response:
    """Convert a refusal to the error codes of RFC 6749 where it has one."""
    message = refusal.message
    match refusal:
        case AuthenticationError():
            return _build_error_response(401, "invalid_client", message, _CHALLENGE)
        case RateLimited() | Unavailable():
            status = 429 if isinstance(refusal, RateLimited) else 503
            headers = {"Retry-After": str(refusal.retry_after)}
            return _build_error_response(status, "temporarily_unavailable", message, headers)
        case MethodNotAllowed():
            return _build_error_response(405, "invalid_request", message)
        case BodyTooLarge():
            return _build_error_response(413, "invalid_request", message)
        case _UnsupportedGrant():
            return _build_error_response(400, "unsupported_grant_type", message)
        case _:
            return _build_error_response(400, "invalid_request", message)


def _build_error_response(
    status: int, error: str, description: str, headers: Mapping[str, str] | None = None
) -> Response:
    body = msgspec.json.encode({"error": error, "error_description": description})
    return Response(body, status, {**(headers or {}), "Pragma": "no-cache"}, media_type=JSON)


async def _issue_token(services: ApiServices, request: Request) -> Response:
    form = await _read_form(request)
    credential = _parse_credential(request.headers.get("authorization"), form)
    if not credential.client_id.isprintable():
        raise AuthenticationError(
            "The client id is unknown: it has characters that are not printable."
        )
    grant_type = form.get("grant_type")
    if grant_type is None:
        raise InvalidRequest("grant_type is missing. Send client_credentials.")
    if grant_type != "client_credentials":
        raise _UnsupportedGrant("Send grant_type client_credentials.")
    resources = services.resources
    request_id = get_request_id(request.scope, resources)
    visitor = digest_client_network(resources.keys, request.client.host if request.client else "")
    async with resources.database.transaction() as tx:
        issued = await issue_token_with_limit(
            tx, credential, now=resources.clock.now(), visitor=visitor,
            randomness=secrets.token_bytes(SECRET_RANDOM_BYTES), ids=resources.ids,
        )  # fmt: skip
    if isinstance(issued, Refusal):
        log_refused_token_request(issued, request_id)
        raise issued
    token = Token(issued.access_token, "bearer", issued.expires_in)
    return Response(msgspec.json.encode(token), headers={"Pragma": "no-cache"}, media_type=JSON)


async def _read_form(request: Request) -> dict[str, str]:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await read_body(request, _MAX_BYTES)
    if media_type != _FORM and body:
        raise InvalidRequest(f"Send the fields as {_FORM}.")
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict")
    except (UnicodeDecodeError, ValueError):
        raise InvalidRequest("The form cannot be read. Send it as UTF-8.") from None
    form = dict(pairs)
    if len(form) < len(pairs):
        raise InvalidRequest("A field is given twice. Send each field once.")
    return form


def _parse_credential(authorization: str | None, form: dict[str, str]) -> NewCredential:
    if authorization is None:
        client_id, secret = form.get("client_id"), form.get("client_secret")
        if not client_id or not secret:
            raise AuthenticationError(
                "Send client_id and client_secret, as form fields or with HTTP Basic."
            )
        return NewCredential(client_id, secret)
    basic = _parse_basic(authorization)
    if "client_secret" in form or form.get("client_id", basic.client_id) != basic.client_id:
        raise InvalidRequest("Send the credentials only once: as form fields or with HTTP Basic.")
    return basic


def _parse_basic(authorization: str) -> NewCredential:
    """Parse HTTP Basic. Id and secret are form-encoded before they are joined (RFC 6749, 2.3.1)."""
    scheme, _, encoded = authorization.strip().partition(" ")
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        text = ""
    client_id, colon, secret = text.partition(":")
    if scheme.lower() != "basic" or not colon:
        raise AuthenticationError("The Authorization header is not valid HTTP Basic (RFC 7617).")
    return NewCredential(unquote_plus(client_id), unquote_plus(secret))
