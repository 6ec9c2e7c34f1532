"""Judge and label runs before they start: pure rules."""
