"""The admin, and one page: it orders new stock once the request's transaction is committed."""

from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from .jobs import restock


@csrf_exempt
def order(request: HttpRequest, product_id: int) -> JsonResponse:
    """Enqueue after the commit: the queue is another database here, and must not be ahead of this one."""
    transaction.on_commit(lambda: restock.enqueue_sync(product_id=product_id, amount=10))
    return JsonResponse({"ordered": product_id}, status=202)


urlpatterns = [path("admin/", admin.site.urls), path("restock/<int:product_id>", order)]
