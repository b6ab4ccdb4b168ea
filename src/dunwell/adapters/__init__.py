"""One folder per outside system, with its callback routes; they see ports and pure values only."""
