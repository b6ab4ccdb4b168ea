"""The installations that the tests in `tests/faults` start and kill."""

from tests.faults.conftest import bare_installation, installation, used_folder

__all__ = ["bare_installation", "installation", "used_folder"]
