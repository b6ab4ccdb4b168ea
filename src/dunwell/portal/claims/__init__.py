"""Claims in the portal: the list, one claim with all that happened to it, and what is done to it."""
