"""Every use case about users checks a right, concerns the caller, or lets a user in."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import FunctionType

from dunwell.accounts import users as people
from dunwell.accounts.users.user_work import UserWork

_CHECKING_A_RIGHT = {
    "manage_users.set_break_glass", "single_sign_on.identities.link_identity",
    "manage_users.change_roles", "manage_users.sign_out_user", "manage_users.deactivate_user",
    "manage_users.reset_other_user",
    "manage_users.invite_first_admin", "manage_users.invite_user", "manage_users.reset_user",
}  # fmt: skip
_FOR_OWN_ACCOUNT = {
    "sessions.confirm_session.find_confirmation_ways", "factors.recovery_codes.list_shown_codes",
    "factors.recovery_codes.create_recovery_codes", "factors.recovery_codes.hide_shown_codes",
    "own_account.change_profile", "own_account.end_own_session", "own_account.load_account",
    "own_account.remove_own_factor", "factors.set_up_factor.add_passkey",
    "factors.set_up_factor.finish_app_setup",
    "factors.set_up_factor.find_new_app_secret", "factors.set_up_factor.start_app_setup",
    "factors.set_up_factor.start_passkey_setup",
}  # fmt: skip
_CALLED_AFTER_A_CHECK = {
    "accept_invitation.register_passkey", "user_work.save_user_audit",
    "user_work.save_refused_sign_in",
    "sessions.confirm_session.record_confirmation", "manage_users.check_roles",
    "manage_users.lock_active_user", "sessions.sessions.open_session",
    "sign_in.passkey_sign_in.find_passkey_user",
    "sign_in.local_sign_in.report_break_glass", "user_mails.plan_user_mail",
    "sign_in.limits.may_compare_code", "sign_in.limits.record_wrong_code",
    "single_sign_on.identities.admit_user",
}  # fmt: skip


def list_use_cases() -> Iterator[tuple[str, FunctionType]]:
    """Yield the functions that take a UserWork."""
    for module in pkgutil.walk_packages(people.__path__, "dunwell.accounts.users."):
        loaded = importlib.import_module(module.name)
        for name, function in vars(loaded).items():
            is_own = inspect.isfunction(function) and function.__module__ == loaded.__name__
            if is_own and not name.startswith("_") and takes_work(function):
                yield f"{module.name.removeprefix('dunwell.accounts.users.')}.{name}", function


def takes_work(function: FunctionType) -> bool:
    return any(each is UserWork for each in function.__annotations__.values())


def checks_right_first(function: FunctionType) -> bool:
    """Return whether the function checks a right before anything else after its docstring."""
    body = inspect.getsource(function).split('"""')[-1].strip()
    return body.startswith("work.require(Right.PEOPLE)")


def test_each_use_case_checks_a_right_first_or_has_a_reason() -> None:
    functions = dict(list_use_cases())
    assert {
        name for name, each in functions.items() if checks_right_first(each)
    } == _CHECKING_A_RIGHT
    assert functions.keys() - _CHECKING_A_RIGHT == _FOR_OWN_ACCOUNT | _CALLED_AFTER_A_CHECK
