"""Command groups that import a subcommand's module only when it is used.

The group's help is built from data, so that showing it imports no other module.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """A subcommand: its click command as `module:name`, and its line in the group's help."""

    place: str
    does: str


class LazyGroup(click.Group):
    """A click group that is defined by a table of subcommands."""

    def __init__(self, *, words: Mapping[str, LazyCommand], **settings: Any) -> None:
        super().__init__(**settings)
        self.words = words

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.words)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.words:
            return None
        command: click.Command = load_object(self.words[cmd_name].place)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, word.does) for name, word in self.words.items()])


def load_object(place: str) -> Any:
    """Return the object `module:name`, importing the module if necessary."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)
