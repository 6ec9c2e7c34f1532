"""Read lists: their rows, filters, orders, keys and pages."""
