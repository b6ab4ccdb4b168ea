"""The login for the demo's portal. Its user is created once, with the command and its one-time
link.

The password and the authenticator app's key are stored with the demo's data. They are valid for
that data only.
"""

import json
import re
import secrets
import subprocess
from dataclasses import dataclass
from typing import Any

import pyotp
from examples.installation import DemoInstallation
from examples.page import Browser
from examples.progress import DemoFailed, print_line

_EMAIL = "demo@example.org"
_NAME = "Demo"
_SECRET = re.compile(r"cannot scan the code ((?:[A-Z2-7]{4} ?)+)")


@dataclass(frozen=True)
class Login:
    email: str
    password: str
    # The key of the authenticator app, in base32.
    app_key: str


async def get_login(installation: DemoInstallation) -> Login:
    """Return the login that an earlier demo created for the same data, or create one."""
    path = installation.data_dir / "demo-secrets.json"
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    if "portal" not in kept:
        kept["portal"] = await _create_user(installation)
        path.touch(mode=0o600)
        path.write_text(json.dumps(kept))
    return Login(_EMAIL, **kept["portal"])


def print_login(installation: DemoInstallation, login: Login) -> None:
    """Print the login and the current app code. An app with the key shows the following codes."""
    print_line(f"\nPortal          {installation.origin}/portal")
    print_line(f"  e-mail        {login.email}")
    print_line(f"  password      {login.password}")
    print_line(f"  app key       {login.app_key}")
    print_line(f"  app code now  {pyotp.TOTP(login.app_key).now()}")


async def _create_user(installation: DemoInstallation) -> dict[str, str]:
    password = secrets.token_urlsafe(12)
    async with Browser() as browser:
        await browser.open(_create_user_link(installation))
        found = _SECRET.search(browser.words)
        if found is None:
            raise DemoFailed(f'"{browser.heading}" shows no key for an authenticator app')
        app_key = found[1].replace(" ", "")
        code = pyotp.TOTP(app_key).now()
        await browser.press("Create account", password=password, password_again=password, code=code)
        await browser.press("I have saved these codes")
    return {"password": password, "app_key": app_key}


def _create_user_link(installation: DemoInstallation) -> str:
    command = installation.dunwell("user", "create", _EMAIL, "--name", _NAME, "--role", "admin")
    done = subprocess.run(
        command, env=installation.environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise DemoFailed(f"no portal user could be created: {done.stderr.strip()}")
    return done.stdout.strip()
