"""Alembic's environment: runs the revisions on the connection that ``upgrade`` put into the configuration.

Alembic executes this file; nothing imports it.
"""

from alembic import context

context.configure(**context.config.attributes["environment"])
context.run_migrations()
