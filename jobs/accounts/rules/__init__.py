"""Rules of sign-in: accounts, sessions, credentials, secrets, saved views; pure, as the rules in `core` are."""
