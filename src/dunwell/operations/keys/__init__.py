"""Versions of the installation's secret key: rotate it, and seal stored values with the new one."""
