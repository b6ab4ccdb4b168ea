"""Pages of a merchant's settings, its credentials and webhook endpoints, the merchant file, and the
test clock of a sandbox."""
