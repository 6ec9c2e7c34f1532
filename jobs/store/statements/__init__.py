"""Read and write what is stored, a module for each noun; lists for people have filters, orders, pages and counts."""
