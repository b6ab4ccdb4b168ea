"""The versions of the installation's secret key: which there are, what names them, their end."""
