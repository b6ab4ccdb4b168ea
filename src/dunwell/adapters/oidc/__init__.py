"""OpenID Connect: identity providers for single sign-on, with the extra `dunwell[oidc]`."""
