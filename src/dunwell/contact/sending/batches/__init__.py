"""Print batches. Letters wait in the folder of a print service until a manifest names them; only
letters in a manifest are printed. Status files of the service are read back."""
