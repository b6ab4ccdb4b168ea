"""Commands and answers a reader can copy."""

import json
from typing import Any
from urllib.parse import quote

from dunwell.api.operation import Operation

_BREAK = " \\\n  "


def render_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def render_curl(operation: Operation) -> str:
    """The operation's example as a curl command, with $BASE and $TOKEN."""
    method = "" if operation.method == "GET" else f"-X {operation.method} "
    parts = [f'curl {method}"$BASE{_render_path(operation)}"']
    if operation.needs_token:
        parts.append('-H "Authorization: Bearer $TOKEN"')
    if operation.takes_key:
        parts.append('-H "Idempotency-Key: hand-over-1"')
    parts += _render_body(operation)
    return _BREAK.join(parts)


def _render_path(operation: Operation) -> str:
    path = operation.path
    for parameter in operation.parameters:
        if parameter.place == "path":
            path = path.replace(f"{{{parameter.name}}}", str(parameter.example))
    asked = [
        f"{each.name}={quote(str(each.example), safe='')}"
        for each in operation.parameters
        if each.place == "query" and each.example is not None and each.name in ("limit", "type")
    ]
    return path + ("?" + "&".join(asked) if asked else "")


def _render_body(operation: Operation) -> list[str]:
    body = operation.body
    if body is None:
        return []
    if body.media_type == "application/json":
        return ['-H "Content-Type: application/json"', f"-d '{render_json(body.example)}'"]
    flag = "-F" if body.media_type.startswith("multipart") else "-d"
    return [f"{flag} '{name}={value}'" for name, value in body.example.items()]
