"""How often a person is contacted at most, over all claims of a merchant."""
