"""Letters: from a template and facts to a sheet, from a sheet to a PDF."""
