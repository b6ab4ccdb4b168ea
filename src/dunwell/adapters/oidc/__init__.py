"""OpenID Connect: providers of single sign-on, by the extra `dunwell[oidc]`."""
