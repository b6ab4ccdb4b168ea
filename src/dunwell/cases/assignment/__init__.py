"""Rules, matching, assigning: which process a claim gets."""
