"""`dunwell workflow`: definitions, drafts, versions (CONTRACT 6); its words, loaded when used."""

import importlib
from collections.abc import Mapping

import click

# Word -> where its command is: module, attribute.
_WORDS: Mapping[str, tuple[str, str]] = {
    "list": ("workflow_reading", "list_workflows_command"),
    "show": ("workflow_reading", "show"),
    "diff": ("workflow_reading", "diff"),
    "draft": ("workflow_drafts", "draft"),
    "publish": ("workflow_drafts", "publish"),
    "discard": ("workflow_drafts", "discard"),
    "deactivate": ("workflow_changes", "deactivate"),
    "activate": ("workflow_changes", "activate"),
    "rename": ("workflow_changes", "rename"),
    "delete": ("workflow_changes", "delete"),
    "check": ("workflow_checking", "check"),
    "schema": ("workflow_checking", "schema"),
    "preview": ("workflow_preview", "command"),
    "message": ("workflow_message", "command"),
}


class _Words(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_WORDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _WORDS:
            return None
        module, attribute = _WORDS[cmd_name]
        found = getattr(importlib.import_module(f"dunwell.cli.{module}"), attribute)
        command: click.Command = found
        return command


@click.group("workflow", cls=_Words, no_args_is_help=False)
def command() -> None:
    """Look at, change and publish the workflows of a merchant."""
