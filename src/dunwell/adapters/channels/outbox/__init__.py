"""A channel without an outside system: each message becomes a file, and pages show the files."""
