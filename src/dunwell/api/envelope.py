"""The envelope of every JSON response (spec, Errors 1): `error` and `result`, one of them null."""

from typing import Any

import msgspec

from dunwell.api.schemas.failures import Failure

_encoder = msgspec.json.Encoder()


def encode_result(result: Any) -> bytes:
    return b'{"error":null,"result":' + _encoder.encode(result) + b"}"


def encode_failure(failure: Failure) -> bytes:
    return b'{"error":' + _encoder.encode(failure) + b',"result":null}'
