"""What the web application does: each function is a request, in the request's own transaction."""

from datetime import datetime, timedelta

from sqlalchemy.orm import Session
from tables import Customer

from cronograph.jobs import enqueue_sync
from jobs import provision, remind

TRIAL = timedelta(days=14)


def sign_up(session: Session, email: str, now: datetime) -> int:
    """A customer, the work that follows, and a reminder before the trial ends: all of it, or nothing."""
    customer = Customer(email=email)
    session.add(customer)
    session.flush()
    provision.enqueue_sync(session, customer.id)
    remind.options(run_at=now + TRIAL).enqueue_sync(session, customer.id)
    return customer.id


def prolong(session: Session, customer_id: int, until: datetime) -> None:
    """The trial ends later, and so comes the reminder."""
    remind.reschedule_sync(session, unique_key=f"remind-{customer_id}", run_at=until)


def upgrade(session: Session, customer_id: int) -> None:
    """The customer pays: no reminder any more."""
    customer = session.get_one(Customer, customer_id)
    customer.plan = "paid"
    remind.cancel_sync(session, unique_key=f"remind-{customer_id}")
    enqueue_sync(session, "send_mail", {"mails": {"to": customer.email, "subject": "Thank you"}})


def leave(session: Session, customer_id: int) -> None:
    """The customer leaves, and with the row goes the reminder, in one line of the same transaction."""
    session.delete(session.get_one(Customer, customer_id))
    remind.cancel_sync(session, unique_key=f"remind-{customer_id}", reason="the customer left")
