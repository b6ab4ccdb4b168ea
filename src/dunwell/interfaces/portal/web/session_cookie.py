"""The cookie of a user's session. It is limited to this host and TLS, and deleted when the browser
closes. Pure."""

from collections.abc import Mapping


def name_cookie(*, is_secure: bool) -> str:
    """Return the cookie's name. With `__Host-`, browsers limit it to this host, all paths and TLS.
    Development may run without TLS, so its cookie has another name."""
    return "__Host-dunwell-portal" if is_secure else "dunwell-portal"


def read_secret(cookies: Mapping[str, str], *, is_secure: bool) -> str | None:
    return cookies.get(name_cookie(is_secure=is_secure))


def render_cookie(secret: str, *, is_secure: bool) -> str:
    """Return the Set-Cookie header. An empty secret removes the cookie."""
    parts = [f"{name_cookie(is_secure=is_secure)}={secret}", "Path=/", "HttpOnly", "SameSite=Lax"]
    if is_secure:
        parts.append("Secure")
    if not secret:
        parts.append("Max-Age=0")
    return "; ".join(parts)
