"""Lists for people: filters, orders, pages by keyset, capped counts, and batches for many parents at once."""
