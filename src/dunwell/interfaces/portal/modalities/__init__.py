"""Instalments and more time: what was asked for, and the answer to it."""
