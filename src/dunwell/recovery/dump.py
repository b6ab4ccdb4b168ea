"""The database as a dump, by PostgreSQL's own programs: any server, embedded or not, any role that
owns the tables. Passwords go by the environment, where no list of processes shows them.
"""

import os
import subprocess
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from dunwell.errors import Unavailable

_COUNT_TABLES = """
SELECT count(*) FROM pg_class
WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace
"""
_NOTE = "\nINSERT INTO public.restores (taken_at) VALUES (:'taken_at');\n"


class DumpFailed(Unavailable):
    """A program of PostgreSQL's failed; its words say why."""


def dump_database(binaries: Path, url: str, target: Path) -> None:
    """All of it as it is at one instant, while it is being used."""
    _run(binaries, "pg_dump", url, "--format=custom", "--no-owner", "--no-privileges",
         f"--file={target}")  # fmt: skip


def restore_database(
    binaries: Path, url: str, dump: Path, draft: Path, *, taken_at: datetime
) -> None:
    """Into an empty one, in one transaction with the note that it was restored: all of it or
    nothing, and never without the note. draft: a file that does not exist yet."""
    try:
        _run(binaries, "pg_restore", None, "--no-owner", "--no-privileges", f"--file={draft}",
             str(dump))  # fmt: skip
        with draft.open("a") as script:
            script.write(_NOTE)
        _run(binaries, "psql", url, "--no-psqlrc", "--quiet", "--single-transaction",
             "--set=ON_ERROR_STOP=1", f"--set=taken_at={taken_at.isoformat()}",
             "--output=/dev/null", f"--file={draft}")  # fmt: skip
    finally:
        draft.unlink(missing_ok=True)


def is_empty(binaries: Path, url: str) -> bool:
    answer = _run(binaries, "psql", url, "--no-psqlrc", "--quiet", "--tuples-only",
                  f"--command={_COUNT_TABLES}")  # fmt: skip
    return answer.strip() == "0"


def _run(binaries: Path, program: str, url: str | None, *arguments: str) -> str:
    environment = dict(os.environ)
    command = [str(binaries / program), *arguments]
    if url is not None:
        parts = urlsplit(url)
        if parts.password is not None:
            environment["PGPASSWORD"] = unquote(parts.password)
            login, _, host = parts.netloc.rpartition("@")
            url = parts._replace(netloc=f"{login.partition(':')[0]}@{host}").geturl()
        command.append(f"--dbname={url}")
    done = subprocess.run(  # noqa: S603 - a program of PostgreSQL's
        command, capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode != 0:
        raise DumpFailed(f"{program}: {done.stderr.strip() or done.returncode}")
    return done.stdout
