"""Background jobs: bulk actions on claims, and CSV exports."""
