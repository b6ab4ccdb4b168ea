"""Real servers of channels, each started and ended by its tests."""
