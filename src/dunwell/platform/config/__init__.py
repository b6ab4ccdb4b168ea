"""Every setting of an installation, read once into one frozen value."""

from dunwell.platform.config.loading import load_settings
from dunwell.platform.config.settings import Bind, InvalidSettings, Settings, render_settings

__all__ = ["Bind", "InvalidSettings", "Settings", "load_settings", "render_settings"]
