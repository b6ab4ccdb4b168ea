"""Lists over all claims: what was sent, and who is not contacted any more."""
