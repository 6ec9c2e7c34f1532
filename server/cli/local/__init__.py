"""Commands that ask neither a server nor a database."""
