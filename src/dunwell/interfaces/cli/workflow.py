"""`dunwell workflow`: definitions, drafts and versions (CONTRACT 6)."""

import click

from dunwell.interfaces.cli.words import LazyCommand, LazyGroup

_READING = "dunwell.interfaces.cli.workflow_reading"
_DRAFTS = "dunwell.interfaces.cli.workflow_drafts"
_CHANGES = "dunwell.interfaces.cli.workflow_drafts"
_CHECKING = "dunwell.interfaces.cli.workflow_checking"
_WORDS = {
    "list": LazyCommand(f"{_READING}:list_workflows_command", "List the workflows of a merchant."),
    "show": LazyCommand(f"{_READING}:show", "Print a version, or the draft."),
    "diff": LazyCommand(f"{_READING}:diff", "Show the differences between two versions."),
    "draft": LazyCommand(f"{_DRAFTS}:draft", "Save a file as the draft, or create a draft."),
    "publish": LazyCommand(f"{_DRAFTS}:publish", "Publish the draft, after showing what changes."),
    "discard": LazyCommand(f"{_DRAFTS}:discard", "Discard the draft."),
    "deactivate": LazyCommand(f"{_CHANGES}:deactivate", "Deactivate a workflow: rules skip it."),
    "activate": LazyCommand(f"{_CHANGES}:activate", "Activate a workflow again."),
    "rename": LazyCommand(f"{_CHANGES}:rename", "Rename a workflow."),
    "delete": LazyCommand(f"{_CHANGES}:delete", "Delete a workflow that nothing uses."),
    "check": LazyCommand(f"{_CHECKING}:check", "List the faults of a definition in a file."),
    "schema": LazyCommand(f"{_CHECKING}:schema", "Print the JSON Schema of a definition."),
    "preview": LazyCommand(
        "dunwell.interfaces.cli.workflow_preview:command",
        "Show what publishing the draft would do.",
    ),
    "message": LazyCommand(f"{_READING}:message", "Show one message as a debtor would receive it."),
}


@click.group("workflow", cls=LazyGroup, words=_WORDS, no_args_is_help=False)
def command() -> None:
    """Show, edit and publish the workflows of a merchant."""
