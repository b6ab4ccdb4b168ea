"""Pages of a workflow's templates: edit, preview and simulate them, and send a test to oneself."""
