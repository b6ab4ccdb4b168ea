"""Sending: what contacts of a process and messages a debtor asked for have in common on their way
out."""
