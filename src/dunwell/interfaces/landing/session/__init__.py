"""A debtor's session, its cookies, drafts, and the claim that it has opened."""
