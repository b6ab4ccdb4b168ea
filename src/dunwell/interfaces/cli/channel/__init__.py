"""Words about channels: what comes back, and trying a line."""
