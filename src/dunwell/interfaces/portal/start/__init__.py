"""The start page: what waits for a person, and a few figures that lead to their lists."""
