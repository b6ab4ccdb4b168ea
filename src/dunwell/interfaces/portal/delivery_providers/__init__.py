"""The installation's lines in the portal: what waits, what left and what came back."""
