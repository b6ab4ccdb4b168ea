"""Words that show what was done, and that it stands as it was written."""
