"""Settings: merchants are opened, set up, given credentials, taken as files; the sandbox clock."""
