"""The overview page of a merchant: items that need attention, and figures with links to lists."""
