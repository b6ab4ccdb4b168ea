"""Single sign-on with the operator's identity providers: sign-in, confirmation and logout."""
