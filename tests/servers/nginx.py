"""An nginx with `examples/production/nginx.conf` and other ports and paths."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers.debian import PRODUCTION, find_port, need_program, replace_in, wait_for
from tests.support.certificates import write_certificate

HOST = "claims.example.com"
_MAIN = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/dunwell.conf;
}}
"""


@dataclass(frozen=True)
class Nginx:
    certificate: Path
    port: int
    plain_port: int


@contextmanager
def run_nginx(
    folder: Path,
    backend_port: int,
    changes: Sequence[tuple[str, str]] = (),
    *,
    second_port: int | None = None,
) -> Iterator[Nginx]:
    """Run nginx in front of one or two ports of this machine. `changes` are further replacements in
    the configuration."""
    program = need_program("nginx", "nginx-light")
    write_certificate(folder, HOST)
    port, plain_port = find_port(), find_port()
    second_server = "    server 127.0.0.1:8001 max_fails=0;\n"
    moved_server = second_server.replace("8001", str(second_port))
    example = replace_in(
        (PRODUCTION / "nginx.conf").read_text(),
        [
            ("server 127.0.0.1:8000 ", f"server 127.0.0.1:{backend_port} "),
            (second_server, "" if second_port is None else moved_server),
            ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
            ("listen 80", f"listen 127.0.0.1:{plain_port}"),
            ("/etc/ssl/dunwell", str(folder)),
            *changes,
        ],
    )
    (folder / "dunwell.conf").write_text(example)
    main = folder / "nginx.conf"
    main.write_text(_MAIN.format(folder=folder))
    process = subprocess.Popen(
        [program, "-p", folder, "-c", main], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(port, process, folder / "error.log")
        yield Nginx(folder / "certificate.pem", port, plain_port)
    finally:
        process.terminate()
        process.wait()
