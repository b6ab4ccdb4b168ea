"""The test clock of a sandbox merchant: it moves on request, and what falls due is done."""
