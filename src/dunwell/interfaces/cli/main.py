"""The `dunwell` command. The module of each subcommand is imported when it is used."""

import sys
from collections.abc import Sequence

import click

from dunwell.interfaces.cli.words import Word, Words, load

_WORDS = {
    "up": Word("dunwell.interfaces.cli.up:command", "Start everything: database, web and worker."),
    "web": Word("dunwell.interfaces.cli.web:command", "Serve the API from this process alone."),
    "worker": Word(
        "dunwell.interfaces.cli.worker:command", "Run due steps, send messages, deliver webhooks."
    ),
    "mail": Word("dunwell.interfaces.cli.channel.mail:command", "Take what comes back to e-mails."),
    "channel": Word(
        "dunwell.interfaces.cli.channel.channel:command", "Try lines; see how messages fare."
    ),
    "migrate": Word(
        "dunwell.interfaces.cli.database:command", "Bring the database to the newest schema."
    ),
    "apply": Word(
        "dunwell.interfaces.cli.deferred:apply", "Create or update a merchant from its file."
    ),
    "workflow": Word(
        "dunwell.interfaces.cli.workflow:command", "Look at, change and publish workflows."
    ),
    "rules": Word(
        "dunwell.interfaces.cli.rules:command", "Look at, try, change, publish assignment rules."
    ),
    "scenario": Word(
        "dunwell.interfaces.cli.scenario:command", "Look at, create and edit scenarios."
    ),
    "switch": Word(
        "dunwell.interfaces.cli.switch:command", "Switch a merchant from scenarios to workflows."
    ),
    "credential": Word(
        "dunwell.interfaces.cli.credential:command", "Create, rotate and revoke API credentials."
    ),
    "user": Word(
        "dunwell.interfaces.cli.people.user:command", "Let people into the portal, and end them."
    ),
    "webhook": Word(
        "dunwell.interfaces.cli.webhook:command", "Look at, test and replay to webhooks."
    ),
    "explain": Word(
        "dunwell.interfaces.cli.deferred:explain", "Say why a claim stands where it stands."
    ),
    "suppression": Word(
        "dunwell.interfaces.cli.suppression:command",
        "Keep addresses from being contacted, or let them be.",
    ),
    "communications": Word(
        "dunwell.interfaces.cli.communications:command",
        "Look at contacts; settle those of unknown outcome.",
    ),
    "outbox": Word(
        "dunwell.interfaces.cli.outbox:command", "Read messages written into the outbox."
    ),
    "verify-ledger": Word(
        "dunwell.interfaces.cli.ledgers.verify_ledger:command",
        "Verify that the ledger is as it was written.",
    ),
    "audit": Word(
        "dunwell.interfaces.cli.ledgers.audit:command", "Show who did what, and what changed by it."
    ),
    "key": Word(
        "dunwell.interfaces.cli.key:command",
        "Draw a new version of the secret key, retire old ones.",
    ),
    "backup": Word(
        "dunwell.interfaces.cli.recovery:backup", "Write database and files into a folder."
    ),
    "restore": Word(
        "dunwell.interfaces.cli.recovery:restore", "Restore a backup or a moment; let it go on."
    ),
    "archive": Word("dunwell.interfaces.cli.archive:command", "Keep the archive; up runs it."),
    "doctor": Word(
        "dunwell.interfaces.cli.doctor:command", "Check what this installation stands on."
    ),
    "config": Word(
        "dunwell.interfaces.cli.options:command", "Show the effective settings, without secrets."
    ),
}


@click.group(
    cls=Words, words=_WORDS, no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
def dunwell() -> None:
    """Dunwell collects unpaid claims on behalf of merchants."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    try:
        code = dunwell.main(args=arguments, prog_name="dunwell", standalone_mode=False)
    except Exception as error:
        lines, code = load("dunwell.interfaces.cli.failures:describe_failure")(error)
        if not lines:
            raise
        for line in lines:
            click.echo(f"dunwell: {line}", err=True)
    sys.exit(code if isinstance(code, int) else 0)
