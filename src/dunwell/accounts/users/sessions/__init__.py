"""Users' sessions: open, find, confirm and end them."""
