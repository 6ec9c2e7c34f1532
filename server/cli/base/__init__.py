"""What commands share: their options, their output, the way to a server and to the database."""
