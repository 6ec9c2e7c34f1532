"""The text that is written is what the official parser reads."""

from prometheus_client.parser import text_string_to_metric_families

from cronograph.jobs.core.counts import BOUNDS, Histogram
from cronograph.server.metrics.node import Counters, Histograms

WORST = 'a "quoted" %d name\\ with\nbreaks, é'


def test_counters_are_read_back_whatever_their_labels_hold() -> None:
    family = Counters("cronograph_things_total", "Things.", "job", "outcome")
    text = family.text([((WORST, "success"), 3), (("b", "failed"), 1.5)])
    (found,) = text_string_to_metric_families(text)
    assert {(one.labels["job"], one.value) for one in found.samples} == {(WORST, 3.0), ("b", 1.5)}


def test_histograms_are_read_back_cumulated() -> None:
    histogram = Histogram()
    for seconds in (0.001, 0.2, 1e9):
        histogram.observe(seconds)
    (found,) = text_string_to_metric_families(
        Histograms("things_seconds", "Things.", "job").text({(WORST,): histogram})
    )
    by_bound = {one.labels["le"]: one.value for one in found.samples if one.name.endswith("_bucket")}
    assert (by_bound["0.005"], by_bound["0.1"], by_bound["0.5"], by_bound["21600"], by_bound["+Inf"]) == (1, 1, 2, 2, 3)
    assert len(by_bound) == len(BOUNDS) + 1
    assert {one.value for one in found.samples if one.name.endswith("_count")} == {3}
    assert {one.value for one in found.samples if one.name.endswith("_sum")} == {histogram.total}


def test_a_histogram_that_changes_is_written_again() -> None:
    family, histogram = Histograms("things_seconds", "Things."), Histogram()
    before = family.text({(): histogram})
    assert family.text({(): histogram}) == before
    histogram.observe(1.0)
    assert family.text({(): histogram}) != before
