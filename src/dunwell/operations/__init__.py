"""What keeps the service running: merchant files, jobs, backups, alerts, keys, the test clock."""
