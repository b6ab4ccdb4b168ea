"""The checks of `dunwell doctor`, by subject."""
