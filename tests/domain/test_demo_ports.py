"""The demo chooses free ports."""

import socket

import pytest
from examples.installation import find_free_port


def test_a_port_in_use_is_skipped_with_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        wanted = held.getsockname()[1]
        port = find_free_port(wanted)
    assert port > wanted
    assert capsys.readouterr().out == f"Port {wanted} is in use; {port} is used instead.\n"
