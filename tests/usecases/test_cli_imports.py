"""A command imports only the modules that it needs, so that it starts quickly.

The tests count modules instead of seconds, which vary on a busy machine.
"""

import json
import subprocess
import sys
from collections.abc import Sequence

import click
import pytest

from dunwell.interfaces.cli.main import LazyGroup, dunwell

# The web application, the letter printer, pages, files and channels.
_HEAVY = {
    "PIL", "aiohttp", "jinja2", "obstore", "pikepdf", "starlette", "typst", "uvicorn",
}  # fmt: skip
_RUN = """
import contextlib, json, sys
from dunwell.interfaces.cli.main import main
for words in json.loads(sys.argv[1]):
    with contextlib.suppress(SystemExit):
        main(words)
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def _read_by(*words: str) -> set[str]:
    """Return the modules that a separate Python process has imported when the command ends."""
    return _read_by_all([words])


def _read_by_help(*commands: str) -> set[str]:
    """Return the modules that a process has imported when it has shown the help of each of these
    commands."""
    return _read_by_all([[each, "--help"] for each in commands])


def _read_by_all(commands: Sequence[Sequence[str]]) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", _RUN, json.dumps(commands)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(json.loads(done.stderr))


def _ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.startswith("dunwell.")}


def _libraries(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def test_the_list_of_commands_imports_no_command() -> None:
    read = _read_by("--help")
    assert _ours(read) == {
        "dunwell.interfaces",
        "dunwell.interfaces.cli",
        "dunwell.interfaces.cli.main",
    }
    assert _libraries(read).isdisjoint({"asyncpg", "msgspec", "structlog", *_HEAVY})


def test_the_list_of_a_groups_commands_imports_none_of_them() -> None:
    read = _read_by("workflow", "--help")
    assert _ours(read) == {
        "dunwell.interfaces",
        "dunwell.interfaces.cli", "dunwell.interfaces.cli.main",
    }  # fmt: skip


def test_config_imports_settings_and_no_database() -> None:
    read = _read_by("config")
    assert _libraries(read).isdisjoint({"asyncpg", "msgspec", *_HEAVY})
    folders = {".".join(name.split(".")[:2]) for name in _ours(read)}
    assert folders == {"dunwell.interfaces", "dunwell.platform"}


def test_commands_that_serve_nothing_import_no_web_application() -> None:
    read = _read_by_help(
        "audit", "communications", "credential", "migrate", "rules", "suppression", "switch", "up",
        "verify-ledger",
    )  # fmt: skip
    assert _libraries(read).isdisjoint(_HEAVY)


def test_the_help_of_a_command_does_not_import_its_implementation() -> None:
    read = _read_by_help("apply", "explain")
    assert _libraries(read).isdisjoint({"asyncpg", "msgspec", *_HEAVY})
    folders = {".".join(name.split(".")[:2]) for name in _ours(read)}
    assert folders == {"dunwell.interfaces", "dunwell.platform"}


@pytest.mark.parametrize(
    ("doing", "read_too"),
    # Jinja and the lists of codes are needed to check a file.
    [("dunwell.interfaces.cli.applying", {"jinja2"}), ("dunwell.interfaces.cli.explaining", set())],
)
def test_the_implementation_of_a_command_imports_no_web_application(
    doing: str, read_too: set[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {doing}, sys; print(*sys.modules)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert doing in done.stdout.split()
    assert _libraries(set(done.stdout.split())).isdisjoint(_HEAVY - read_too)


def _list_groups(group: LazyGroup) -> list[LazyGroup]:
    context = click.Context(group)
    members = [group.get_command(context, name) for name in group.subcommands]
    inner = [
        found for each in members if isinstance(each, LazyGroup) for found in _list_groups(each)
    ]
    return [group, *inner]


def test_every_command_is_in_the_module_that_its_table_names() -> None:
    assert isinstance(dunwell, LazyGroup)
    for group in _list_groups(dunwell):
        for name in group.subcommands:
            command = group.get_command(click.Context(group), name)
            assert isinstance(command, click.Command)
            assert command.name == name
