"""Who may come in: accounts, ways to sign in, tokens, secrets."""
