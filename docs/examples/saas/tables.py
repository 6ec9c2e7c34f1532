"""The application's own tables."""

from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Base(DeclarativeBase):
    """All of them."""


class Customer(Base):
    """Somebody who tries the product, or pays for it."""

    __tablename__ = "customer"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str]
    plan: Mapped[str] = mapped_column(default="trial")
