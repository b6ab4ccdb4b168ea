"""Sign-in with a password and a code or with a passkey, and the limits on attempts."""
