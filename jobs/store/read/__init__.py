"""Read, a module for each noun; lists for people by filters, orders, pages by keyset and capped counts."""
