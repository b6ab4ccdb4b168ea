"""The commands about channels: test a delivery provider, show delivery figures, and receive bounces
and replies."""
