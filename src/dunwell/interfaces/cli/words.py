"""Words of the command line that are read when they are used, so that none waits for the libraries
of another. What is told of a word in its group's list is data, and reads no module.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click


@dataclass(frozen=True, slots=True)
class Word:
    """Where its command is, as `module:name`, and what it does in a few words."""

    place: str
    does: str


class Words(click.Group):
    """A group that is a table of words."""

    def __init__(self, *, words: Mapping[str, Word], **settings: Any) -> None:
        super().__init__(**settings)
        self.words = words

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.words)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.words:
            return None
        command: click.Command = load(self.words[cmd_name].place)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, word.does) for name, word in self.words.items()])


def load(place: str) -> Any:
    """What stands at `module:name`; the module is read if it was not."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)
