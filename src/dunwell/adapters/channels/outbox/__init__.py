"""The channel that needs nothing outside: each message becomes a file, and a page shows them."""
