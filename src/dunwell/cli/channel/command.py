"""`dunwell channel`: trying lines, and how messages fare by them."""

import click

from dunwell.cli.channel.deliveries import deliveries
from dunwell.cli.channel.trying import test


@click.group("channel", no_args_is_help=False)
def command() -> None:
    """Try the lines of the installation file, and see how messages fare by them."""


command.add_command(test)
command.add_command(deliveries)
