"""The tables of the order service: its own, beside those of Cronograph in the same database."""

from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Base(DeclarativeBase):
    """All tables."""


class Order(Base):
    """What somebody ordered."""

    __tablename__ = "orders"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str]
    state: Mapped[str] = mapped_column(default="new")


class Mail(Base):
    """The outbox."""

    __tablename__ = "mail"

    id: Mapped[int] = mapped_column(primary_key=True)
    to: Mapped[str]
    subject: Mapped[str]
