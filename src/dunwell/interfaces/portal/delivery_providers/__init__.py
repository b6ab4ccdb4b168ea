"""Pages of the installation's delivery providers: queued, sent and returned messages."""
