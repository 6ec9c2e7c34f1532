"""Operations on accounts, ways to sign in, tokens and secrets."""
