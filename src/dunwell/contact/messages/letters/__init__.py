"""Letters: from a template and facts to a sheet, and from a sheet to a PDF."""
