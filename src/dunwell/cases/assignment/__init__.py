"""Assignment: which workflow a claim gets, by rules or by request."""
