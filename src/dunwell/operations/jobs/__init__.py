"""Background jobs: changes of many claims, CSV exports, and previews, run by the worker."""
