"""Every setting of an installation, read once into one frozen value."""

from dunwell.config.loading import load_settings
from dunwell.config.settings import Settings, SettingsFaulty, render_settings

__all__ = ["Settings", "SettingsFaulty", "load_settings", "render_settings"]
