"""The jobs of the newsroom: `python manage.py cronograph serve`."""

from smtplib import SMTPException

from django.core.mail import send_mail
from django.utils import timezone

from cronograph.jobs import Cancel, JobContext, job

from .models import Article, Subscriber


@job(unique_key=("article_id",))
def publish(ctx: JobContext, article_id: int) -> int:
    """Publishes an article when its time has come; its mails are enqueued if, and only if, this ends well."""
    drafts = Article.objects.filter(pk=article_id, published_at=None)
    if not drafts.update(published_at=timezone.now()):
        raise Cancel("it was deleted, or is published already")
    ctx.enqueue_at_end(mail_to_all, article_id=article_id)
    return 1


@job(retries=3, retry_delay="1m", retry_on=(SMTPException, OSError))
def mail_to_all(ctx: JobContext, article_id: int) -> int:
    """One mail for each subscriber. A second attempt goes on with those who have none yet."""
    article = Article.objects.get(pk=article_id)
    waiting = Subscriber.objects.filter(newest__lt=article_id).order_by("pk")
    total = waiting.count()
    for done, subscriber in enumerate(waiting, 1):
        send_mail(article.headline, "Read it in the newsroom.", None, [subscriber.email])
        Subscriber.objects.filter(pk=subscriber.pk).update(newest=article_id)
        ctx.progress(done, total, subscriber.email)
    return total


@job(schedule="0 0 7 * * MON", timezone="Europe/Berlin")
def count_drafts(ctx: JobContext) -> int:
    """Every Monday: how many articles are not published."""
    drafts = Article.objects.filter(published_at=None).count()
    ctx.log.info("drafts", count=drafts)
    return drafts
