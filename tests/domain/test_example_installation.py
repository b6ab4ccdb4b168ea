"""The providers in `examples/production/installation.yaml` are valid."""

from pathlib import Path

import asyncssh
import msgspec

from dunwell.accounts.installation.delivery_providers import SftpProvider
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.platform.text.yaml_document import parse_yaml

_FILE = Path(__file__).parents[2] / "examples/production/installation.yaml"


def test_the_example_provider_for_letters_can_be_applied() -> None:
    lines = check_installation(parse_yaml(_FILE.read_text())).delivery_providers or {}
    letters = lines["letters"]
    assert isinstance(letters, SftpProvider)
    assert asyncssh.import_public_key(letters.host_key).get_algorithm() == "ssh-ed25519"
    assert msgspec.structs.asdict(letters)["key_file"] == "letters_key"
