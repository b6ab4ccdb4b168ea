"""Which fields of a form its user typed, so that they can be shown and put back after the session
ended. Hidden fields, passwords, codes and secrets are not among them. Pure.

Templates say which fields are hidden; `tests/portal/test_typed_fields.py` compares them with this
list.
"""

from collections.abc import Mapping

from dunwell.interfaces.portal.render.addresses import PATHS
from dunwell.interfaces.web.form_fields import FormFields

# Never shown and never kept, whatever form they are in.
_SECRET = frozenset({"code", "answer", "authorization"})
_SECRET_PREFIXES = ("password", "confirm_", "known_")
# Hidden in every form that is sent.
_HIDDEN = frozenset(
    {
        "token", "do", "next", "username", "session", "factor", "place", "first", "form_id",
        "revision", "order_revision", "seen", "check", "step", "endpoint", "beside", "of",
        "assignee",
    }
)  # fmt: skip
# Hidden in these forms, and typed in others.
_HIDDEN_ON: Mapping[str, frozenset[str]] = {
    "bulk": frozenset({"action", "claim", "which"}),
    "unplaced": frozenset({"key", "after"}),
    "workflow": frozenset({"name", "after", "show"}),
    "workflows": frozenset({"wait"}),
    "workflow_step": frozenset({"kind"}),
    "workflow_step_new": frozenset({"kind"}),
    "rules": frozenset({"name"}),
    "rules_try": frozenset({"rules"}),
    "settings_changes": frozenset({"publish"}),
}
# A merchant file may hold a webhook's authorization: shown to whoever sent it, and not kept.
_NOT_KEPT_ON: Mapping[str, frozenset[str]] = {"settings_changes": frozenset({"text"})}
_PAGES = {path: page for page, path in PATHS.items()}


def is_typed(page: str, name: str) -> bool:
    """Whether users type this field of the page's forms, and it is no secret."""
    is_secret = name in _SECRET or name.startswith(_SECRET_PREFIXES)
    return not is_secret and name not in _HIDDEN and name not in _HIDDEN_ON.get(page, ())


def list_typed(route: str, fields: FormFields) -> list[str]:
    """What the user typed, however short, in the order of the form; route: the form's address."""
    names = [name for name in fields if is_typed(_PAGES.get(route, ""), name)]
    return [value for name in names for value in fields.all(name) if value.strip()]


def choose_kept(route: str, fields: FormFields) -> dict[str, list[str]]:
    """What may be stored of it: also what was emptied."""
    return {name: fields.all(name) for name in fields if is_restored(route, name)}


def is_restored(route: str, name: str) -> bool:
    """Whether the field is among those that are kept and put back."""
    page = _PAGES.get(route, "")
    return is_typed(page, name) and name not in _NOT_KEPT_ON.get(page, ())
