"""The commands that compare a server with tasks in files: `plan`, `apply` and `export`."""
