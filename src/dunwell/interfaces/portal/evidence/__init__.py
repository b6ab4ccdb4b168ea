"""Files of debtors and merchants in the portal: as pictures of their pages, never as themselves."""
