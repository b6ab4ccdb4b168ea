"""Jobs in the portal: what is done to many claims at once, and lists written out as CSV."""
