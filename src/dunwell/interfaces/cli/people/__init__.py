"""Words about people: who signs in to the portal."""
