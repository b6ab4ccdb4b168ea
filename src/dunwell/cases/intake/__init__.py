"""Creating claims: check, store, attach, assign."""
