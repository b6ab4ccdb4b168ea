"""The `dunwell` command. The module of each subcommand is imported when it is used."""

import sys
from collections.abc import Sequence

import click

from dunwell.interfaces.cli.words import LazyCommand, LazyGroup, load_object

_WORDS = {
    "up": LazyCommand(
        "dunwell.interfaces.cli.up:command", "Start everything: database, web and worker."
    ),
    "web": LazyCommand(
        "dunwell.interfaces.cli.web:command", "Serve the API from this process alone."
    ),
    "worker": LazyCommand(
        "dunwell.interfaces.cli.worker:command", "Run due steps, send messages, deliver webhooks."
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
        "dunwell.interfaces.cli.deferred:apply", "Create or update a merchant from its file."
    ),
    "workflow": LazyCommand(
        "dunwell.interfaces.cli.workflow:command", "Show, edit and publish workflows."
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
    cls=LazyGroup, words=_WORDS, no_args_is_help=False,
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
