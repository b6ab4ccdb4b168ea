"""People who work with Dunwell: who they are, what they may do, how they sign in."""
