"""The imaginary shop of ``cronograph demo``."""
