"""What all pages of the portal share: requests, responses, sessions and guards of routes."""
