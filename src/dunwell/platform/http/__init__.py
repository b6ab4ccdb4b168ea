"""HTTP in both directions: the server of a web process, and the client for outgoing requests."""
