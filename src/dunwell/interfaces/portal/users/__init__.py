"""Pages for signing in, for one's own account, and for managing users."""
