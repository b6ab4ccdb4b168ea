"""Who uses Dunwell: merchants, users, credentials and permissions, and the installation itself."""
