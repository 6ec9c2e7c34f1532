"""A page in the admin: the latest runs, and the way to the dashboard."""

from typing import TYPE_CHECKING, Any, TypeAlias

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from typing_extensions import override

from ...jobs.core.base.errors import CronographError
from .choices import choices
from .enqueueing import latest_runs
from .models import Run

if TYPE_CHECKING:
    Admin: TypeAlias = admin.ModelAdmin[Run]
else:
    Admin = admin.ModelAdmin  # which takes no parameter at run time

SHOWN = 50
"""Number of runs on the page."""


@admin.register(Run)
class RunAdmin(Admin):
    """Shows runs to who may view them, and changes nothing: that is done in the dashboard."""

    @override
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @override
    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    @override
    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    @override
    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            return super().changelist_view(request, extra_context)
        chosen = choices()
        context: dict[str, Any] = {"title": "Runs", "dashboard_url": chosen.dashboard_url}
        try:
            context["runs"] = latest_runs(SHOWN)
        except CronographError as error:
            context["fault"] = str(error)
        return TemplateResponse(request, "cronograph/runs.html", {**self.admin_site.each_context(request), **context})
