"""Duties that a node repeats in addition to its runs; whichever node looks first does them."""
