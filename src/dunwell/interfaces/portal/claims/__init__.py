"""Claims in the portal: the list, one claim with all that happened to it, what is done
to it."""
