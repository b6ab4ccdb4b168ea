"""The addresses on which `dunwell up`, `web` and `worker` listen. `dunwell up` imports this module
and not the application, so that its child processes start sooner.
"""

import http.client
import socket

import click

from dunwell.platform.config import Settings

_BACKLOG = 2048


def open_listener(host: str, port: int, setting: str = "--port") -> socket.socket:
    """Listen on the address. Raises OSError with a message that names the setting to change."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        raise OSError(
            f"cannot listen on {host} port {port}: {error.strerror}; use another with {setting}."
        ) from error
    return listener


def open_operators_listener(settings: Settings, inherited: int | None) -> socket.socket | None:
    """Return the socket for operators: the inherited one of `dunwell up`, or one for the setting,
    or None. Raises OSError."""
    if inherited is not None:
        return socket.socket(fileno=inherited)
    bind = settings.operator_bind
    return open_listener(bind.host, bind.port, "DUNWELL_OPERATOR_BIND") if bind else None


operators_option = click.option(
    "--operators-listener", type=int, hidden=True, help="An inherited listening socket."
)


def render_address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_ready(host: str, port: int) -> bool:
    """Return whether /readyz responds with 200 at the address."""
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    connection = http.client.HTTPConnection(reached, port, timeout=1)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
