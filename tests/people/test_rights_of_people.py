"""Every use case about people asks for the right to, or is about oneself, or lets somebody in."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import FunctionType

from dunwell.accounts import users as people
from dunwell.accounts.users.user_work import UserWork

_ASKING = {
    "break_glass.set_break_glass", "single_sign_on.link_identity.link_identity",
    "change_user.change_place", "change_user.end_sessions", "change_user.end_user",
    "change_user.reset_other",
    "invite_user.invite_first_admin", "invite_user.invite_user", "invite_user.reset_user",
}  # fmt: skip
_OF_ONESELF = {
    "confirm_session.find_confirmation_ways", "make_codes.find_made_codes",
    "make_codes.make_codes", "make_codes.put_codes_away",
    "own_account.change_profile", "own_account.end_own_session", "own_account.read_account",
    "own_account.remove_own_factor", "set_up_factor.add_passkey", "set_up_factor.confirm_app",
    "set_up_factor.find_started_app", "set_up_factor.start_app", "set_up_factor.start_passkey",
}  # fmt: skip
_BEHIND_ONE_THAT_ASKED_OR_PROVED = {
    "accept_invitation.enrol_passkey", "audit.save_people_audit", "audit.save_refused_sign_in",
    "confirm_session.record_confirmation", "invite_user.check_merchants",
    "invite_user.require_user", "open_session.open_session", "passkey_sign_in.find_passkey_user",
    "local_sign_in.tell_break_glass", "user_mails.mail_user",
    "second_factor_limit.is_code_accepted", "second_factor_limit.record_wrong_code",
    "single_sign_on.let_in.let_in",
}  # fmt: skip


def list_functions() -> Iterator[tuple[str, FunctionType]]:
    """Those that are given a PeopleWork."""
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
