"""What was found, in words that all parts of an import share."""
