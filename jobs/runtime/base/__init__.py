"""What all parts of a node share: its settings, its clock, its services and what wakes them."""
