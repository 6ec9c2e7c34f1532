"""Commands of ``manage.py``, one module each, named like its command."""
