"""The upload form and its ticket (spec, Upload ticket)."""

from typing import Annotated, Any

from msgspec import Meta

from dunwell.platform.text.wire import Uuid, Wire


class UploadTicket(Wire, frozen=True):
    ticket_id: Annotated[
        Uuid, Meta(description="Use it as `source` of an attachment, within 7 days.")
    ]


FRIENDLY_NAME, FILE_NAME = "friendlyName", "fileName"

FORM: dict[str, Any] = {
    "type": "object",
    "required": [FRIENDLY_NAME, FILE_NAME],
    "additionalProperties": False,
    "properties": {
        FRIENDLY_NAME: {
            "type": "string",
            "minLength": 1,
            "maxLength": 255,
            "description": "The name debtors see and download.",
        },
        FILE_NAME: {
            "type": "string",
            "contentMediaType": "application/octet-stream",
            "description": "The file, with its original file name. PDF, JPEG, PNG or WebP, "
            "at most 10 MiB.",
        },
    },
}
