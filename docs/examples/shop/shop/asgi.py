"""The shop with everything in one process: Django, a node that runs the jobs, and the dashboard for its staff.

uvicorn shop.asgi:application --port 9000     # sign in at /admin/, then open /ops/jobs/
"""

import os

from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
django = ASGIStaticFilesHandler(get_asgi_application())

from cronograph.django import with_dashboard

application = with_dashboard(django, "/ops/jobs", public_url=os.environ.get("SHOP_URL", "http://localhost:9000"))
