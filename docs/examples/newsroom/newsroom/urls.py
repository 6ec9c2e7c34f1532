"""Two pages for editors: write an article that is published later, and withdraw it before."""

from datetime import datetime

from django.db import transaction
from django.http import HttpRequest, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from .jobs import publish
from .models import Article


@csrf_exempt
@require_POST
@transaction.atomic
def write(request: HttpRequest) -> JsonResponse:
    """The article and the run that publishes it are in the database together, or neither is."""
    article = Article.objects.create(headline=request.POST["headline"])
    at = datetime.fromisoformat(request.POST["at"])
    run = publish.options(run_at=at).enqueue_sync(article_id=article.pk)
    return JsonResponse({"article": article.pk, "run": run.run_id}, status=201)


@csrf_exempt
@require_POST
@transaction.atomic
def withdraw(request: HttpRequest, article_id: int) -> JsonResponse:
    """Its run finds nothing to publish, and is cancelled."""
    deleted, _ = Article.objects.filter(pk=article_id, published_at=None).delete()
    return JsonResponse({"withdrawn": deleted == 1})


urlpatterns = [path("articles", write), path("articles/<int:article_id>/withdraw", withdraw)]
