"""The `dunwell` command, and its group `dunwell workflow` (CONTRACT 6). The module of a subcommand
is imported only when it is used. A group's help is built from data, so that showing it imports no
other module.
"""

import importlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """A subcommand: its click command as `module:name`, and its text in the group's help."""

    target: str
    summary: str


class LazyGroup(click.Group):
    """A click group that is defined by a table of subcommands."""

    def __init__(self, *, subcommands: Mapping[str, LazyCommand], **settings: Any) -> None:
        super().__init__(**settings)
        self.subcommands = subcommands

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.subcommands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.subcommands:
            return None
        command: click.Command = load_object(self.subcommands[cmd_name].target)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.summary) for name, each in self.subcommands.items()])


def load_object(target: str) -> Any:
    """Return the object `module:name`, importing the module if necessary."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


_READING = "dunwell.interfaces.cli.workflow_reading"
_DRAFTS = "dunwell.interfaces.cli.workflow_drafts"
_CHECKING = "dunwell.interfaces.cli.workflow_checking"
_WORKFLOW_COMMANDS = {
    "list": LazyCommand(f"{_READING}:list_workflows_command", "List the workflows of a merchant."),
    "show": LazyCommand(f"{_READING}:show", "Print a version, or the draft."),
    "diff": LazyCommand(f"{_READING}:diff", "Show the differences between two versions."),
    "draft": LazyCommand(f"{_DRAFTS}:draft", "Save a file as the draft, or create a draft."),
    "publish": LazyCommand(f"{_DRAFTS}:publish", "Publish the draft, after showing what changes."),
    "discard": LazyCommand(f"{_DRAFTS}:discard", "Discard the draft."),
    "deactivate": LazyCommand(f"{_DRAFTS}:deactivate", "Deactivate a workflow: rules skip it."),
    "activate": LazyCommand(f"{_DRAFTS}:activate", "Activate a workflow again."),
    "rename": LazyCommand(f"{_DRAFTS}:rename", "Rename a workflow."),
    "delete": LazyCommand(f"{_DRAFTS}:delete", "Delete a workflow that nothing uses."),
    "check": LazyCommand(f"{_CHECKING}:check", "List the faults of a definition in a file."),
    "schema": LazyCommand(f"{_CHECKING}:schema", "Print the JSON Schema of a definition."),
    "preview": LazyCommand(
        "dunwell.interfaces.cli.workflow_preview:command",
        "Show what publishing the draft would do.",
    ),
    "message": LazyCommand(f"{_READING}:message", "Show one message as a debtor would receive it."),
}


@click.group("workflow", cls=LazyGroup, subcommands=_WORKFLOW_COMMANDS, no_args_is_help=False)
def workflow() -> None:
    """Show, edit and publish the workflows of a merchant."""


_COMMANDS = {
    "up": LazyCommand(
        "dunwell.interfaces.cli.up:command", "Start everything: database, web and worker."
    ),
    "web": LazyCommand(
        "dunwell.interfaces.cli.serving:web", "Serve the API, the portal and the debtors' pages."
    ),
    "worker": LazyCommand(
        "dunwell.interfaces.cli.serving:worker", "Run due steps, send messages, deliver webhooks."
    ),
    "mail": LazyCommand(
        "dunwell.interfaces.cli.channel.mail:command", "Receive bounces and replies to e-mails."
    ),
    "channel": LazyCommand(
        "dunwell.interfaces.cli.channel.channel:command",
        "Test delivery providers; show delivery figures.",
    ),
    "migrate": LazyCommand(
        "dunwell.interfaces.cli.database:command", "Upgrade the database to the newest schema."
    ),
    "apply": LazyCommand(
        "dunwell.interfaces.cli.deferred:apply",
        "Apply the file of a merchant or the installation.",
    ),
    "workflow": LazyCommand(
        "dunwell.interfaces.cli.main:workflow", "Show, edit and publish workflows."
    ),
    "rules": LazyCommand(
        "dunwell.interfaces.cli.rules:command", "Show, try, edit and publish assignment rules."
    ),
    "scenario": LazyCommand(
        "dunwell.interfaces.cli.scenario:command", "Show, create and edit scenarios."
    ),
    "switch": LazyCommand(
        "dunwell.interfaces.cli.switch:command", "Switch a merchant from scenarios to workflows."
    ),
    "credential": LazyCommand(
        "dunwell.interfaces.cli.credential:command", "Create, rotate and revoke API credentials."
    ),
    "user": LazyCommand(
        "dunwell.interfaces.cli.people.user:command",
        "Create, reset and deactivate users of the portal.",
    ),
    "webhook": LazyCommand(
        "dunwell.interfaces.cli.webhook:command", "Show and test webhook endpoints; replay events."
    ),
    "explain": LazyCommand(
        "dunwell.interfaces.cli.deferred:explain", "Explain the status of a claim."
    ),
    "suppression": LazyCommand(
        "dunwell.interfaces.cli.suppression:command",
        "Manage the suppression list.",
    ),
    "communications": LazyCommand(
        "dunwell.interfaces.cli.communications:command",
        "Show communications; resolve unknown delivery status.",
    ),
    "statements": LazyCommand(
        "dunwell.interfaces.cli.statements:command",
        "Import bank statements; match them with claims.",
    ),
    "debits": LazyCommand(
        "dunwell.interfaces.cli.debits:command",
        "Release direct debits; download their files for the bank.",
    ),
    "outbox": LazyCommand("dunwell.interfaces.cli.outbox:command", "Read messages in the outbox."),
    "verify-ledger": LazyCommand(
        "dunwell.interfaces.cli.audit:verify_ledger_command",
        "Verify that the ledger was not changed.",
    ),
    "audit": LazyCommand("dunwell.interfaces.cli.audit:audit", "Show who changed what."),
    "key": LazyCommand(
        "dunwell.interfaces.cli.key:command",
        "Rotate the secret key; retire old versions.",
    ),
    "backup": LazyCommand(
        "dunwell.interfaces.cli.recovery:backup", "Write database and files into a folder."
    ),
    "restore": LazyCommand(
        "dunwell.interfaces.cli.recovery:restore", "Restore a backup or a point in time; resume."
    ),
    "archive": LazyCommand(
        "dunwell.interfaces.cli.recovery:archive", "Archive the embedded database; started by up."
    ),
    "doctor": LazyCommand("dunwell.interfaces.cli.doctor:command", "Check this installation."),
    "config": LazyCommand(
        "dunwell.interfaces.cli.options:command", "Show the effective settings, without secrets."
    ),
}


@click.group(
    cls=LazyGroup, subcommands=_COMMANDS, no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
def dunwell() -> None:
    """Dunwell collects unpaid claims on behalf of merchants."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    try:
        code = dunwell.main(args=arguments, prog_name="dunwell", standalone_mode=False)
    except Exception as error:
        lines, code = load_object("dunwell.interfaces.cli.failures:describe_failure")(error)
        if not lines:
            raise
        for line in lines:
            click.echo(f"dunwell: {line}", err=True)
    sys.exit(code if isinstance(code, int) else 0)
