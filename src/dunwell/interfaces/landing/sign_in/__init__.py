"""How a debtor opens a claim: links, letter codes, known facts and codes that are sent."""
