"""How lists are read: what is listed, filters, orders, keys and pages."""
