"""Letters by files: what lines over a folder and over SFTP have in common."""
