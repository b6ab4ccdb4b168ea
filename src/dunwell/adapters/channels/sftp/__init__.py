"""Letters to a print service's server by SFTP."""
