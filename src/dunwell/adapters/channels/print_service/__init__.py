"""Letters as files: what delivery providers over a folder and over SFTP have in common."""
