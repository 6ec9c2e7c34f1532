"""Lists as Relay connections: filters, orders, cursors."""
