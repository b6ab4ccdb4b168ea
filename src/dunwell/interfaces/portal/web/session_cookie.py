"""The cookie of a person's session: to this host and TLS alone, gone with the browser. Pure."""

from collections.abc import Mapping


def name_cookie(*, is_secure: bool) -> str:
    """`__Host-` makes browsers keep it to this host, all its paths, and TLS; development, which
    may be without, has a name of its own."""
    return "__Host-dunwell-portal" if is_secure else "dunwell-portal"


def read_secret(cookies: Mapping[str, str], *, is_secure: bool) -> str | None:
    return cookies.get(name_cookie(is_secure=is_secure))


def render_cookie(secret: str, *, is_secure: bool) -> str:
    """The Set-Cookie header; an empty secret removes the cookie."""
    parts = [f"{name_cookie(is_secure=is_secure)}={secret}", "Path=/", "HttpOnly", "SameSite=Lax"]
    if is_secure:
        parts.append("Secure")
    if not secret:
        parts.append("Max-Age=0")
    return "; ".join(parts)
