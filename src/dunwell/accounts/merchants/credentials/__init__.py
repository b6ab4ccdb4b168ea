"""API credentials: their secrets, access tokens and rate limits."""
