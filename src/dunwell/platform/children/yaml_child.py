"""The child process that parses untrusted YAML.

Started as `python -m dunwell.platform.children.yaml_child`.
"""

import json

import msgspec

from dunwell.platform.children.child import confine_process, serve
from dunwell.platform.children.document_reader import ReadDocument, WantedDocument
from dunwell.platform.text.yaml_document import InvalidDocument, list_lines, parse_yaml

# The largest permitted document needs a fifth of this.
_MEMORY_BYTES = 512 * 1024 * 1024
_CPU_SECONDS_PER_DOCUMENT = 3


def main() -> None:
    """Answer requests until the parent closes the pipe."""
    _answer_request(msgspec.msgpack.encode(WantedDocument("a: [1, x]", [["a", 1]])))
    confine_process(_MEMORY_BYTES, _CPU_SECONDS_PER_DOCUMENT)
    serve(_answer_request, _CPU_SECONDS_PER_DOCUMENT)


def _answer_request(request: bytes) -> bytes:
    wanted = msgspec.msgpack.decode(request, type=WantedDocument)
    try:
        if wanted.places is None:
            # JSON instead of msgpack, because YAML numbers can be too large for msgpack.
            document = ReadDocument(value=json.dumps(parse_yaml(wanted.text)))
        else:
            document = ReadDocument(lines=list_lines(wanted.text, wanted.places))
    except InvalidDocument as fault:
        document = ReadDocument(fault=str(fault))
    return msgspec.msgpack.encode(document)


if __name__ == "__main__":
    main()
