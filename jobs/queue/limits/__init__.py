"""What holds runs back: rates, running at once, how many may wait, unique, debounced and exclusive keys."""
