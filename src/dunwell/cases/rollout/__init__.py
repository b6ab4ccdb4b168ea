"""Publishing, preview, the switch, deleting: what a change of process does to running claims."""
