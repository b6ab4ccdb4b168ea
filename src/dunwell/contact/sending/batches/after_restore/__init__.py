"""Letters that may have been released in the time that a restore lost."""
