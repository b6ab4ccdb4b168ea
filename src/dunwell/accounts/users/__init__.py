"""Users of the portal: their roles, sign-in, sessions and second factors."""
