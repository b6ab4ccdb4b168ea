"""Follows the README: the demo, its login, the disputed claim, the response, and the webhook that
the demo prints."""

import asyncio
import os
import re
import shlex
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, Page, expect

from tests.browser.page_checks import list_violations

_ROOT = Path(__file__).parents[2]
_TIMEOUT_SECONDS, _NEXT_CODE_SECONDS = 90, 2
_CODE = re.compile(r"`\.venv/bin/python (-c '.+?') APP_KEY`", re.DOTALL)


def _read_steps() -> list[str]:
    """Return the numbered steps of the README's section about the portal, each on one line."""
    readme = (_ROOT / "README.md").read_text()
    part = readme.partition("## Answer a dispute in the portal")[2].partition("\n## ")[0]
    steps = re.findall(r"^\d\. (.+?)(?=^\d\. |\Z)", part, re.DOTALL | re.MULTILINE)
    return [" ".join(each.split()) for each in steps]


class Terminal:
    """The terminal in which the demo runs, with its output so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.output = ""

    async def wait_for(self, text: str, behind: int = 0) -> str:
        """Return the output as soon as it contains the text after the first `behind` characters."""
        assert self._process.stdout is not None
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            while text not in self.output[behind:]:
                line = await self._process.stdout.readline()
                assert line, self.output
                self.output += line.decode()
        return self.output

    def find(self, name: str) -> str:
        """Return the value after this name in the printed addresses and login."""
        found = re.search(rf"^ *{re.escape(name)} +(\S.*)$", self.output, re.MULTILINE)
        assert found, self.output
        return found[1].strip()


@asynccontextmanager
async def _demo(folder: Path) -> AsyncIterator[Terminal]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # Leave out the variables that the tests are started with.
    environment = {name: text for name, text in os.environ.items() if "DUNWELL" not in name}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "examples.demo", "--port", str(port), "--data-dir", str(folder),
        cwd=_ROOT, env=environment, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        yield Terminal(process)
    finally:
        process.terminate()
        await process.wait()


async def _ask_for_code(steps: list[str], key: str) -> str:
    """Ask for a code with the README's command."""
    command = _CODE.search(steps[0])
    assert command, steps[0]
    words = [sys.executable, *shlex.split(command[1]), key]
    process = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    return output.decode().strip()


async def _sign_in(page: Page, terminal: Terminal, steps: list[str]) -> None:
    assert "Open the portal's address and sign in." in steps[0]
    await page.goto(terminal.find("Portal"))
    await page.get_by_label("E-mail address").fill(terminal.find("e-mail"))
    await page.get_by_label("Password").fill(terminal.find("password"))
    await page.get_by_role("button", name="Continue").click()
    assert "Each code works once" in steps[0]
    # The demo has already used the code that it shows, or the previous one.
    code = shown = terminal.find("app code now")
    while code == shown:
        code = await _ask_for_code(steps, terminal.find("app key"))
        await asyncio.sleep(0 if code != shown else _NEXT_CODE_SECONDS)
    await page.get_by_label("Six-digit code").fill(code)
    await page.get_by_role("button", name="Sign in").click()
    was_that_you = page.get_by_role("link", name="Yes, it was me")
    await expect(page.get_by_role("heading", level=1)).not_to_have_text("Sign in")
    if await was_that_you.count():
        await was_that_you.click()


async def test_the_readmes_steps_lead_to_the_answer_and_its_webhook(
    chromium: Browser, tmp_path: Path
) -> None:
    steps = _read_steps()
    assert len(steps) == 4
    async with _demo(tmp_path / "demo") as terminal:
        await terminal.wait_for("Dunwell stays up.")
        context = await chromium.new_context(locale="en-GB")
        page = await context.new_page()
        await _sign_in(page, terminal, steps)

        assert "Choose the merchant." in steps[1]
        await page.get_by_role("link", name="Teekontor Hansen").first.click()
        assert "one dispute. Open it." in steps[1]
        await page.get_by_role("link", name="Open disputes").click()
        await page.locator("main table a").first.click()

        assert "Read what the debtor says" in steps[2]
        await expect(page.locator("main")).to_contain_text("Two of the five teapots arrived broken")
        await page.get_by_label("Accept dispute").check()
        await page.get_by_label("Message to the debtor").fill("You are right. We are sorry.")
        await page.get_by_role("button", name="Preview").click()
        await expect(page.locator(".sheet")).to_contain_text("You are right. We are sorry.")
        assert await list_violations(page) == []
        await page.get_by_role("button", name="Send response").click()
        await expect(page.get_by_role("status").first).to_contain_text("Response sent.")

        assert "Open Webhooks and then the endpoint." in steps[3]
        await page.get_by_role("link", name="Webhooks", exact=True).click()
        await page.locator("main table tbody a").first.click()
        assert "DISPUTED event" in steps[3]
        log = page.locator("main table tbody tr").filter(has_text="TK-2026-1008")
        await expect(log.filter(has_text="DISPUTED").first).to_be_visible()
        assert "Send a test event: the demo's terminal shows" in steps[3]
        length_before = len(terminal.output)
        await page.get_by_role("button", name="Send test event").click()
        await expect(page.get_by_role("status").first).to_contain_text("acknowledged")
        await terminal.wait_for("signature verified", behind=length_before)
        assert "TEST" in terminal.output[length_before:]
        await context.close()
