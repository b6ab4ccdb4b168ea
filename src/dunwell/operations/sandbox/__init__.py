"""The test clock of a sandbox merchant: it is advanced on request, and everything that becomes due
is run."""
