"""Disputes in the portal: what waits for an answer, one dispute with its evidence, the answer."""
