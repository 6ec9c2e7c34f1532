"""The settings of a small Django project. The tables of Cronograph are in the same database."""

import os
from pathlib import Path

SECRET_KEY = os.environ.get("NEWSROOM_SECRET_KEY", "for trials only")
ALLOWED_HOSTS = ["localhost"]
INSTALLED_APPS = ["django.contrib.contenttypes", "cronograph.django", "newsroom"]
ROOT_URLCONF = "newsroom.urls"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("NEWSROOM_DATABASE", Path(__file__).parent / "newsroom.sqlite3"),
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DEFAULT_FROM_EMAIL = "newsroom@example.org"
USE_TZ = True
CRONOGRAPH = {"SETTINGS": {"slots": 5}}
