"""E-mails that notify a user of a change to their sign-in.

They are planned in the transaction of the change. The worker sends them together with those of
alerts.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum

from dunwell.accounts.installation.alerts.store import NewStaffEmail, save_staff_emails
from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.users.user import User
from dunwell.accounts.users.user_work import UserWork
from dunwell.platform.text.translation import LazyText, find_staff_language


class UserMail(StrEnum):
    SECOND_FACTOR_LOCKED = "SECOND_FACTOR_LOCKED"
    APP_ADDED = "APP_ADDED"
    PASSKEY_ADDED = "PASSKEY_ADDED"


# Subject and body.
_MAILS: Mapping[UserMail, tuple[LazyText, LazyText]] = {
    UserMail.SECOND_FACTOR_LOCKED: (
        LazyText("Dunwell: sign-in to your account is restricted"),
        LazyText("""Hello %(name)s,

Someone entered your password for Dunwell correctly and then ten wrong codes within 24 hours,
the last one on %(at)s.

To protect your account, Dunwell now accepts only a passkey, or a browser in which you have signed
in during the last 30 days.

If this was not you, someone knows your password. Sign in and choose a new one now:
%(url)s/portal/account/password
A new password also lifts the restriction. If you cannot sign in, ask your administrator for a
reset link.
"""),
    ),
    UserMail.APP_ADDED: (
        LazyText("Dunwell: a new authenticator app was set up for your account"),
        LazyText("""Hello %(name)s,

A new authenticator app was set up for your Dunwell account on %(at)s. It replaces the app you had
before. You were signed out everywhere else.

If this was not you, ask your administrator at once to reset how you sign in.

Your account: %(url)s/portal/account
"""),
    ),
    UserMail.PASSKEY_ADDED: (
        LazyText("Dunwell: a passkey was added to your account"),
        LazyText("""Hello %(name)s,

A passkey was added to your Dunwell account on %(at)s. It can be used to sign in. You were
signed out everywhere else.

If this was not you, ask your administrator at once to reset how you sign in.

Your account: %(url)s/portal/account
"""),
    ),
}


def render_user_mail(mail: UserMail, user: User, at: datetime, public_url: str) -> tuple[str, str]:
    """Return subject and text, in the user's language."""
    translate = find_staff_language(user.language).translate
    subject, body = _MAILS[mail]
    day = at.astimezone(UTC).strftime(translate("%Y-%m-%d at %H:%M UTC"))
    return translate(subject), translate(body, name=user.name, at=day, url=public_url)


async def plan_user_mail(work: UserWork, user: User, mail: UserMail) -> None:
    """Plan the e-mail in the work's transaction.

    Nothing is planned while the installation has no e-mail provider: a warning that is sent months
    later, when a provider is added, would mislead. The account page shows the same information.
    """
    installation = (await load_installation(work.tx)).installation
    if not any(
        provider.channel == "EMAIL" for provider in (installation.delivery_providers or {}).values()
    ):
        return
    subject, body = render_user_mail(mail, user, work.now, work.public_url)
    planned = NewStaffEmail(
        work.ids.new(work.now), user.email, subject=subject, body=body, language=user.language
    )
    await save_staff_emails(work.tx, [planned], work.now)
