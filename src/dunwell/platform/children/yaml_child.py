"""The child process that parses untrusted YAML.

Started as `python -m dunwell.platform.children.yaml_child`.
"""

import json

import msgspec

from dunwell.platform.children.child import confine_process, serve
from dunwell.platform.children.document_reader import DocumentAnswer, DocumentRequest
from dunwell.platform.text.yaml_document import InvalidDocument, list_lines, parse_yaml

# The largest permitted document needs a fifth of this.
_MEMORY_BYTES = 512 * 1024 * 1024
_CPU_SECONDS_PER_DOCUMENT = 3


def main() -> None:
    """Answer requests until the parent closes the pipe."""
    _answer_request(msgspec.msgpack.encode(DocumentRequest("a: [1, x]", [["a", 1]])))
    confine_process(_MEMORY_BYTES, _CPU_SECONDS_PER_DOCUMENT)
    serve(_answer_request, _CPU_SECONDS_PER_DOCUMENT)


def _answer_request(request: bytes) -> bytes:
    document_request = msgspec.msgpack.decode(request, type=DocumentRequest)
    try:
        if document_request.places is None:
            # JSON instead of msgpack, because YAML numbers can be too large for msgpack.
            answer = DocumentAnswer(value=json.dumps(parse_yaml(document_request.text)))
        else:
            answer = DocumentAnswer(
                lines=list_lines(document_request.text, document_request.places)
            )
    except InvalidDocument as fault:
        answer = DocumentAnswer(fault=str(fault))
    return msgspec.msgpack.encode(answer)


if __name__ == "__main__":
    main()
