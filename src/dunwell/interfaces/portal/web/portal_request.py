"""Requests to the portal. They allow larger forms, and know the language chosen before."""

from typing import ClassVar

from dunwell.interfaces.web.requests import PageRequest

LANGUAGE_COOKIE = "dunwell-portal-language"


class PortalRequest(PageRequest):
    max_form_bytes: ClassVar[int] = 256 * 1024
    max_form_fields: ClassVar[int] = 500

    @property
    def kept_language(self) -> str:
        """Return the language in the cookie, or ""."""
        language: str = self.cookies.get(LANGUAGE_COOKIE, "")
        return language
