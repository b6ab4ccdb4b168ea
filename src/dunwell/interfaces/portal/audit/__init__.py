"""The audit log of a merchant in the portal: who did what, what it was before and after."""
