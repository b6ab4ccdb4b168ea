"""Rollout: publishing, previewing and deleting workflows, and the switch from scenarios."""
