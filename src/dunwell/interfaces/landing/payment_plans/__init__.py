"""Payment plans, deferrals and pauses: the offers, requesting one, and what was agreed."""
