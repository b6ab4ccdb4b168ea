"""Single sign-on: somebody known by a provider of the operator's comes in, and goes."""
