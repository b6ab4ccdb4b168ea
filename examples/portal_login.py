"""Somebody who can sign in to the demo's portal: made once, by the command and the one-time page.

The password and the authenticator app's key are kept beside the demo's data, which they open and
nothing else.
"""

import json
import re
import secrets
import subprocess
from dataclasses import dataclass
from typing import Any

import pyotp
from examples.page import Browser
from examples.stage import Stage
from examples.story import StoryBroken, say

_EMAIL = "demo@example.org"
_NAME = "Demo"
_SECRET = re.compile(r"cannot scan the code ((?:[A-Z2-7]{4} ?)+)")


@dataclass(frozen=True)
class Login:
    email: str
    password: str
    # Of the authenticator app, in base32.
    app_key: str


async def find_login(stage: Stage) -> Login:
    """The one of an earlier demo on the same data, or a new one."""
    path = stage.data_dir / "demo-secrets.json"
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    if "portal" not in kept:
        kept["portal"] = await _join(stage)
        path.touch(mode=0o600)
        path.write_text(json.dumps(kept))
    return Login(_EMAIL, **kept["portal"])


def say_login(stage: Stage, login: Login) -> None:
    """app code: of this moment; an app that is given the key shows the next ones."""
    say(f"\nPortal          {stage.origin}/portal")
    say(f"  e-mail        {login.email}")
    say(f"  password      {login.password}")
    say(f"  app key       {login.app_key}")
    say(f"  app code now  {pyotp.TOTP(login.app_key).now()}")


async def _join(stage: Stage) -> dict[str, str]:
    password = secrets.token_urlsafe(12)
    async with Browser() as browser:
        await browser.open(_make_link(stage))
        found = _SECRET.search(browser.words)
        if found is None:
            raise StoryBroken(f'"{browser.heading}" shows no key for an authenticator app')
        app_key = found[1].replace(" ", "")
        code = pyotp.TOTP(app_key).now()
        await browser.press("Create account", password=password, password_again=password, code=code)
        await browser.press("I have saved these codes")
    return {"password": password, "app_key": app_key}


def _make_link(stage: Stage) -> str:
    command = stage.dunwell("user", "create", _EMAIL, "--name", _NAME, "--role", "admin")
    done = subprocess.run(
        command, env=stage.environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise StoryBroken(f"nobody could be let into the portal: {done.stderr.strip()}")
    return done.stdout.strip()
