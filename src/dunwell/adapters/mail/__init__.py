"""What comes back to our e-mails: reports of mail servers, and answers of people."""
