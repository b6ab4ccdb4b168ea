"""The `dunwell` command: its words, each read when it is used."""

import sys
from collections.abc import Sequence

import click

from dunwell.cli.words import Word, Words, load

_WORDS = {
    "up": Word("dunwell.cli.up:command", "Start everything: database, web and worker."),
    "web": Word("dunwell.cli.web:command", "Serve the API from this process alone."),
    "worker": Word("dunwell.cli.worker:command", "Run due steps, send messages, deliver webhooks."),
    "mail": Word("dunwell.cli.channel.mail:command", "Take what comes back to e-mails."),
    "channel": Word("dunwell.cli.channel.trying:command", "Try lines; see how messages fare."),
    "migrate": Word("dunwell.cli.database:command", "Bring the database to the newest schema."),
    "apply": Word("dunwell.cli.deferred:apply", "Create or update a merchant from its file."),
    "workflow": Word("dunwell.cli.workflow:command", "Look at, change and publish workflows."),
    "rules": Word("dunwell.cli.rules:command", "Look at, try, change, publish assignment rules."),
    "scenario": Word("dunwell.cli.scenario:command", "Look at, create and edit scenarios."),
    "switch": Word("dunwell.cli.switch:command", "Switch a merchant from scenarios to workflows."),
    "credential": Word(
        "dunwell.cli.credential:command", "Create, rotate and revoke API credentials."
    ),
    "user": Word("dunwell.cli.people.user:command", "Let people into the portal, and end them."),
    "webhook": Word("dunwell.cli.webhook:command", "Look at, test and replay to webhooks."),
    "explain": Word("dunwell.cli.deferred:explain", "Say why a claim stands where it stands."),
    "suppression": Word(
        "dunwell.cli.suppression:command", "Keep addresses from being contacted, or let them be."
    ),
    "communications": Word(
        "dunwell.cli.communications:command", "Look at contacts; settle those of unknown outcome."
    ),
    "outbox": Word("dunwell.cli.outbox:command", "Read messages written into the outbox."),
    "verify-ledger": Word(
        "dunwell.cli.ledgers.verify_ledger:command", "Verify that the ledger is as it was written."
    ),
    "audit": Word(
        "dunwell.cli.ledgers.audit:command", "Show who did what, and what changed by it."
    ),
    "key": Word(
        "dunwell.cli.key:command", "Draw a new version of the secret key, retire old ones."
    ),
    "backup": Word("dunwell.cli.recovery:backup", "Write database and files into a folder."),
    "restore": Word("dunwell.cli.recovery:restore", "Restore a backup or a moment; let it go on."),
    "archive": Word("dunwell.cli.archive:command", "Keep the archive; up runs it."),
    "doctor": Word("dunwell.cli.doctor:command", "Check what this installation stands on."),
    "config": Word("dunwell.cli.options:command", "Show the effective settings, without secrets."),
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
        lines, code = load("dunwell.cli.failures:describe_failure")(error)
        if not lines:
            raise
        for line in lines:
            click.echo(f"dunwell: {line}", err=True)
    sys.exit(code if isinstance(code, int) else 0)
