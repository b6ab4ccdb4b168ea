"""Match open transactions again."""
