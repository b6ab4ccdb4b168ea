"""The cookies of sessions. They are limited to this host and TLS, and deleted when the browser
closes. Pure."""


def name_cookie(name: str, *, is_secure: bool) -> str:
    """Return the cookie's full name. With `__Host-`, browsers limit it to this host, all paths and
    TLS. Development may run without TLS, so its cookies have no prefix."""
    return f"__Host-dunwell-{name}" if is_secure else f"dunwell-{name}"


def render_cookie(name: str, value: str, *, is_secure: bool) -> str:
    """Render the Set-Cookie header. An empty value removes the cookie. The cookie has no other
    maximum age, so that a page can tell a session that timed out from a missing one."""
    parts = [f"{name_cookie(name, is_secure=is_secure)}={value}", "Path=/"]
    parts += ["HttpOnly", "SameSite=Lax"]
    if is_secure:
        parts.append("Secure")
    if not value:
        parts.append("Max-Age=0")
    return "; ".join(parts)
