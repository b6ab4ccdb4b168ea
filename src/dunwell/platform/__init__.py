"""What any service needs, with no domain rule: settings, database, HTTP, child processes, text."""
