"""Readable random names for nodes, such as ``evasive-einstein-62763``."""

from random import Random, SystemRandom

ADJECTIVES = (
    "agile amber ancient bold brave bright brisk calm candid careful cheerful clever cosmic crisp curious daring deep "
    "eager early earnest elegant evasive fair fearless fluent gentle glad golden graceful happy hidden honest humble "
    "keen kind lively loyal lucid mellow merry mighty modest nimble noble patient placid polite proud quick quiet "
    "rapid ready serene sharp silent silver sincere sleepy smooth solar stable steady subtle sunny swift tidy tranquil "
    "true vivid warm watchful wise witty"
).split()
SURNAMES = (
    "archimedes babbage bell bohr boole curie darwin dijkstra edison einstein euclid euler faraday fermi feynman "
    "franklin galileo gauss goedel goodall hamilton hawking heisenberg hertz hooke hopper hubble huygens hypatia "
    "jackson johnson joule kepler kilby knuth lamarr lamport leibniz liskov lovelace maxwell mcclintock meitner mendel "
    "morse newton nobel noether pascal pasteur payne perlman planck poincare ramanujan ride ritchie rubin sagan "
    "shannon tesla thompson torvalds turing volta wiles wozniak yonath"
).split()


def random_name(random: Random | None = None) -> str:
    """A name that is easy to say and, with its number, practically unique."""
    source = random or SystemRandom()
    return f"{source.choice(ADJECTIVES)}-{source.choice(SURNAMES)}-{source.randint(10_000, 99_999)}"
