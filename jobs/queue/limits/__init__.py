"""Hold runs back: rates, runs at once, waiting runs, unique, debounced and exclusive keys."""
