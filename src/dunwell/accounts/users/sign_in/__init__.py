"""Signing in: by password and code or by passkey, and the limits on attempts."""
