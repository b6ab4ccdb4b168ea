"""The e-mails that tell a user what happened to the way they sign in.

They are planned in the transaction of what happened; the worker sends them with those of alarms.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum

from dunwell.accounts.installation.alarms.mail_store import NewMail, save_mails
from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.users.people_work import PeopleWork
from dunwell.accounts.users.signed_in import Language
from dunwell.accounts.users.user import User


class UserMail(StrEnum):
    SECOND_FACTOR_LOCKED = "SECOND_FACTOR_LOCKED"
    APP_ADDED = "APP_ADDED"
    PASSKEY_ADDED = "PASSKEY_ADDED"


_ENGLISH: Mapping[UserMail, tuple[str, str]] = {
    UserMail.SECOND_FACTOR_LOCKED: (
        "Dunwell: sign-in to your account is restricted",
        """Hello {name},

Someone entered your password for Dunwell correctly and then ten wrong codes within 24 hours,
the last one on {at}.

To protect your account, Dunwell now accepts only a passkey, or a browser in which you have signed
in during the last 30 days.

If this was not you, someone knows your password. Sign in and choose a new one now:
{url}/portal/account/password
A new password also lifts the restriction. If you cannot sign in, ask your administrator for a
reset link.
""",
    ),
    UserMail.APP_ADDED: (
        "Dunwell: a new authenticator app was set up for your account",
        """Hello {name},

A new authenticator app was set up for your Dunwell account on {at}. It replaces the app you had
before. You were signed out everywhere else.

If this was not you, ask your administrator at once to reset how you sign in.

Your account: {url}/portal/account
""",
    ),
    UserMail.PASSKEY_ADDED: (
        "Dunwell: a passkey was added to your account",
        """Hello {name},

A passkey was added to your Dunwell account on {at}. It can be used to sign in. You were signed out
everywhere else.

If this was not you, ask your administrator at once to reset how you sign in.

Your account: {url}/portal/account
""",
    ),
}
_GERMAN: Mapping[UserMail, tuple[str, str]] = {
    UserMail.SECOND_FACTOR_LOCKED: (
        "Dunwell: Die Anmeldung bei Ihrem Konto ist eingeschränkt",
        """Guten Tag {name},

jemand hat Ihr Passwort für Dunwell richtig eingegeben und danach innerhalb von 24 Stunden zehn
falsche Codes, den letzten am {at}.

Zum Schutz Ihres Kontos akzeptiert Dunwell jetzt nur noch einen Passkey oder einen Browser, in dem
Sie sich in den letzten 30 Tagen angemeldet haben.

Wenn Sie das nicht waren, kennt jemand Ihr Passwort. Melden Sie sich an und wählen Sie jetzt ein
neues: {url}/portal/account/password
Ein neues Passwort hebt auch die Einschränkung auf. Wenn Sie sich nicht anmelden können, bitten Sie
Ihren Administrator um einen Link zum Zurücksetzen.
""",
    ),
    UserMail.APP_ADDED: (
        "Dunwell: Für Ihr Konto wurde eine neue Authentifizierungs-App eingerichtet",
        """Guten Tag {name},

für Ihr Dunwell-Konto wurde am {at} eine neue Authentifizierungs-App eingerichtet. Sie ersetzt die
bisherige App. Überall sonst wurden Sie abgemeldet.

Wenn Sie das nicht waren, bitten Sie sofort Ihren Administrator, Ihre Anmeldung zurückzusetzen.

Ihr Konto: {url}/portal/account
""",
    ),
    UserMail.PASSKEY_ADDED: (
        "Dunwell: Zu Ihrem Konto wurde ein Passkey hinzugefügt",
        """Guten Tag {name},

zu Ihrem Dunwell-Konto wurde am {at} ein Passkey hinzugefügt, mit dem man sich anmelden kann.
Überall sonst wurden Sie abgemeldet.

Wenn Sie das nicht waren, bitten Sie sofort Ihren Administrator, Ihre Anmeldung zurückzusetzen.

Ihr Konto: {url}/portal/account
""",
    ),
}
_MAILS: Mapping[Language, Mapping[UserMail, tuple[str, str]]] = {"en": _ENGLISH, "de": _GERMAN}
_DATES: Mapping[Language, str] = {"en": "%Y-%m-%d at %H:%M UTC", "de": "%d.%m.%Y um %H:%M UTC"}


def write_user_mail(mail: UserMail, user: User, at: datetime, public_url: str) -> tuple[str, str]:
    """Return subject and text, in the user's language."""
    subject, body = _MAILS[user.language][mail]
    day = at.astimezone(UTC).strftime(_DATES[user.language])
    return subject, body.format(name=user.name, at=day, url=public_url)


async def mail_user(work: PeopleWork, user: User, mail: UserMail) -> None:
    """Plan it in the work's transaction.

    Nothing is planned while the installation file names no delivery provider for e-mail: an
    installation may begin without a mail server, and a warning that arrives months later, when one
    is added, would mislead. The user's account page shows the same.
    """
    installation = (await load_installation(work.tx)).installation
    if not any(line.channel == "EMAIL" for line in (installation.lines or {}).values()):
        return
    subject, body = write_user_mail(mail, user, work.now, work.public_url)
    planned = NewMail(
        work.ids.new(work.now), user.email, subject=subject, body=body, language=user.language
    )
    await save_mails(work.tx, [planned], work.now)
