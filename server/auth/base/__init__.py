"""What all ways of signing in share: cookies, forms, pages and the path that the server is mounted at."""
