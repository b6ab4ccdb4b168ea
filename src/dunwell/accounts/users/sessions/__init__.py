"""Users' sessions: opened, found, confirmed and ended."""
