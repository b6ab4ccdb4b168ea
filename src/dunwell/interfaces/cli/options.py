"""The options that most commands have, the settings that result from them, and `dunwell config`,
which shows the settings without secrets."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from dunwell.platform.config import Settings, load_settings, render_settings
from dunwell.platform.config.private_folder import set_private_umask
from dunwell.platform.logging import configure_logging

_Function = TypeVar("_Function", bound=Callable[..., Any])


def data_dir_option(function: _Function) -> _Function:
    return click.option(
        "--data-dir",
        help="The data folder, also set by DUNWELL_DATA_DIR. "
        "Default: ./var; in production /var/lib/dunwell",
    )(function)


def address_options(function: _Function) -> _Function:
    host = click.option("--host", help="The address to listen on. Default: 127.0.0.1")
    port = click.option("--port", help="The port to listen on. Default: 8000")
    return host(port(function))


def read_settings(process: str, **flags: str | None) -> Settings:
    """Return the settings from options and environment, and configure logging. From then on, new
    files are readable only by their owner."""
    set_private_umask()
    settings = load_settings(os.environ, **flags)
    configure_logging(settings.log_level, process)
    return settings


@click.command("config")
@data_dir_option
def command(data_dir: str | None) -> None:
    """Show the effective settings, without secrets."""
    settings = read_settings("config", data_dir=data_dir)
    for name, value in render_settings(settings, os.environ).items():
        click.echo(f"{name}={value}")
