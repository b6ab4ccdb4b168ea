"""What a draft would do to running claims, what its messages look like and cost."""
