"""Every use case about people asks for the right to, or is about oneself, or lets somebody in."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import FunctionType

from dunwell.accounts import users as people
from dunwell.accounts.users.user_work import UserWork

_ASKING = {
    "manage_users.set_break_glass", "single_sign_on.identities.link_identity",
    "manage_users.change_place", "manage_users.end_sessions", "manage_users.end_user",
    "manage_users.reset_other",
    "manage_users.invite_first_admin", "manage_users.invite_user", "manage_users.reset_user",
}  # fmt: skip
_OF_ONESELF = {
    "sessions.confirm_session.find_confirmation_ways", "factors.recovery_codes.find_made_codes",
    "factors.recovery_codes.make_codes", "factors.recovery_codes.delete_shown_codes",
    "own_account.change_profile", "own_account.end_own_session", "own_account.read_account",
    "own_account.remove_own_factor", "factors.set_up_factor.add_passkey",
    "factors.set_up_factor.confirm_app",
    "factors.set_up_factor.find_started_app", "factors.set_up_factor.start_app",
    "factors.set_up_factor.start_passkey",
}  # fmt: skip
_BEHIND_ONE_THAT_ASKED_OR_PROVED = {
    "accept_invitation.enrol_passkey", "user_work.save_people_audit",
    "user_work.save_refused_sign_in",
    "sessions.confirm_session.record_confirmation", "manage_users.check_merchants",
    "manage_users.require_user", "sessions.sessions.open_session",
    "sign_in.passkey_sign_in.find_passkey_user",
    "sign_in.local_sign_in.report_break_glass", "user_mails.mail_user",
    "sign_in.limits.is_code_accepted", "sign_in.limits.record_wrong_code",
    "single_sign_on.identities.admit_user",
}  # fmt: skip


def list_functions() -> Iterator[tuple[str, FunctionType]]:
    """Yield those that are given a UserWork."""
    for module in pkgutil.walk_packages(people.__path__, "dunwell.accounts.users."):
        loaded = importlib.import_module(module.name)
        for name, found in vars(loaded).items():
            is_own = inspect.isfunction(found) and found.__module__ == loaded.__name__
            if is_own and not name.startswith("_") and takes_work(found):
                yield f"{module.name.removeprefix('dunwell.accounts.users.')}.{name}", found


def takes_work(function: FunctionType) -> bool:
    return any(each is UserWork for each in function.__annotations__.values())


def asks_first(function: FunctionType) -> bool:
    """Before anything else, behind the words about it."""
    body = inspect.getsource(function).split('"""')[-1].strip()
    return body.startswith("work.need(Right.PEOPLE)")


def test_each_asks_first_or_it_is_said_why_not() -> None:
    functions = dict(list_functions())
    assert {name for name, each in functions.items() if asks_first(each)} == _ASKING
    assert functions.keys() - _ASKING == _OF_ONESELF | _BEHIND_ONE_THAT_ASKED_OR_PROVED
