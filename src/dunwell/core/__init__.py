"""What is recorded: events, workflows, claims and files."""
