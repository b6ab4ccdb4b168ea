"""`dunwell workflow check|schema`: a definition's faults, its JSON Schema; without a database."""

from typing import TextIO

import click

from dunwell.cli.output import echo_json
from dunwell.cli.workflow_document import place_faults, read_given, render_faults
from dunwell.errors import Fault
from dunwell.kit.shape import read_if_fits
from dunwell.messages.checking import find_template_faults
from dunwell.messages.forbidden_words import find_forbidden_words
from dunwell.workflows.checking import definition_schema, find_definition_faults
from dunwell.workflows.definition import Definition


@click.command("check")
@click.argument("file", type=click.File(encoding="utf-8"))
@click.option("--json", "is_json", is_flag=True, help="Answer as JSON.")
@click.pass_context
def check(ctx: click.Context, file: TextIO, is_json: bool) -> None:
    """Say everything that would keep the definition in FILE from being published.

    What depends on a merchant (its bank account, earlier versions) is told when it is saved there.
    """
    given = read_given(file)
    faults = _find_all(given.document)
    if is_json:
        echo_json(place_faults(given, faults))
    elif faults:
        click.echo("\n".join(render_faults(given, faults)))
    else:
        click.echo(f"{given.file_name}: no faults.")
    ctx.exit(1 if faults else 0)


@click.command("schema")
def schema() -> None:
    """Print the JSON Schema of a definition, for editors and checks outside."""
    echo_json(definition_schema())


def _find_all(document: object) -> list[Fault]:
    faults = find_definition_faults(document)
    definition = read_if_fits(document, Definition)
    if definition is not None:
        faults += find_template_faults(definition)
        faults += find_forbidden_words(definition, {})
    return list(dict.fromkeys(faults))
