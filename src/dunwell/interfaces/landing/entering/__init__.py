"""The ways in: links, codes, facts; and what raises what a session shows."""
