"""The admin, and one page: it orders new stock."""

from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from .jobs import restock
from .models import Product


@csrf_exempt
@transaction.atomic
def order(request: HttpRequest, product_id: int) -> JsonResponse:
    """The order and its run are in the database together, or neither is."""
    Product.objects.filter(pk=product_id).update(ordered=True)
    restock.enqueue_sync(product_id=product_id, amount=10)
    return JsonResponse({"ordered": product_id}, status=202)


urlpatterns = [path("admin/", admin.site.urls), path("restock/<int:product_id>", order)]
