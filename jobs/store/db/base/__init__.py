"""What both kinds of connections share: addresses, opening a connection, and cutting one off."""
