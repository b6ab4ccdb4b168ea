"""The description of the token endpoint, which `api.token` serves."""

from dunwell.interfaces.api.operation import Operation, RequestBody
from dunwell.interfaces.api.schemas.service import Token

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
