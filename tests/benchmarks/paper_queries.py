"""The 13 queries of "Scheduling of Intermittent Query Processing", as far as its text tells.

Stated there: 4,500 files at one a second; CQ1 to CQ4 in one batch (table 2: 17.86, 18.85, 32.0 and
32.5 s); the latest deadline at 0.1D, 4,594 s, which makes 640 s for one batch of each of the 13
(section 7.4: 94 s are a tenth of them and C_max of 30 s). The curves of figure 3 are a picture.
Fitted, so that these statements hold: minimum batches from 180 files (CQ1, Q6) to 1,125 (CQ3 and
CQ4) at a slack of 50 %; last batches of about 105 s in sum at 50 %, about 329 batches at 100 %; Q10
at 60 batches about 6 times one batch, CQ2 2.7 times CQ1; final aggregations of 60 batches of 3 s
(CQ3) and 7 s (CQ4); alone, all in two batches but Q3, Q9 and Q10 in three at 0.1D. How the other
538.8 s are shared by the nine TPC-H queries is ours. ``test_schedule.py`` holds all of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from forerun.planner.schedule.arrivals import ArrivalCurve, arrival_curve, steady
from forerun.planner.schedule.batch_cost import FittedCost
from forerun.planner.schedule.piecewise import PiecewiseLinear

FILES = 4_500
LONGEST_S = 30.0
"""C_max."""
KNEE = 500
"""Up to so many files a file costs more: "especially in the range of 0 to 500" (section 7.3)."""

SEEN = 60.0
"""The most batches that are stated. Beyond, partial results become smaller as they become more (a
batch has fewer groups): a batch more is taken to cost a twentieth."""


@dataclass(frozen=True, slots=True)
class PaperQuery:
    """``single``: seconds of one batch over all files; ``start``: of a batch of none; ``knee``: by
    how much the first 500 files cost more than any other 500; ``merge`` and ``per_batch``: the
    final aggregation."""

    name: str
    single: float
    start: float
    knee: float
    merge: float
    per_batch: float

    @property
    def cost(self) -> FittedCost:
        slope = (self.single - self.start - self.knee) / FILES
        at_knee = self.start + self.knee + slope * KNEE
        return FittedCost(
            PiecewiseLinear((0.0, float(KNEE)), (self.start, at_knee), beyond=slope),
            PiecewiseLinear(
                (2.0, SEEN),
                (self.merge + 2 * self.per_batch, self.merge + SEEN * self.per_batch),
                beyond=self.per_batch / 20,
            ),
        )


QUERIES = (
    PaperQuery("CQ1", 17.86, 0.35, 0.0, 0.1, 0.01),
    PaperQuery("CQ2", 18.85, 1.40, 0.1, 0.1, 0.03),
    PaperQuery("CQ3", 32.00, 1.30, 3.3, 0.1, 0.05),
    PaperQuery("CQ4", 32.50, 1.30, 3.3, 0.3, 0.11),
    PaperQuery("Q1", 80.00, 1.95, 0.8, 0.1, 0.02),
    PaperQuery("Q3", 65.00, 5.20, 0.7, 0.3, 0.05),
    PaperQuery("Q4", 60.00, 1.50, 0.6, 0.1, 0.02),
    PaperQuery("Q6", 20.00, 0.39, 0.0, 0.1, 0.01),
    PaperQuery("Q9", 100.00, 8.10, 0.8, 0.4, 0.08),
    PaperQuery("Q10", 75.00, 6.10, 0.6, 0.3, 0.06),
    PaperQuery("Q12", 55.00, 1.40, 0.5, 0.1, 0.02),
    PaperQuery("Q14", 40.00, 1.05, 0.4, 0.1, 0.01),
    PaperQuery("Q19", 43.79, 1.10, 0.4, 0.1, 0.01),
)


def _by_rates(rates: list[tuple[float, float]]) -> ArrivalCurve:
    """Files at so many a second for so many seconds each, up to 4,500 files."""
    at = list(accumulate((seconds for seconds, _ in rates), initial=0.0))
    files = list(accumulate((seconds * rate for seconds, rate in rates), initial=0.0))
    scale = FILES / files[-1]
    return arrival_curve([(t, n * scale) for t, n in zip(at, files, strict=True)])


FIXED = steady(0, FILES, FILES)
RATES: dict[str, ArrivalCurve] = {
    "FR": FIXED,
    "VR1": steady(0, 4_000, FILES),
    "VR2": _by_rates([(250.0, rate) for rate in (2.0, 0.6) * 8]),
    "VR3": _by_rates([(904.0, rate) for rate in (0.90, 0.97, 1.02, 1.05, 1.06)]),
    "VR4": _by_rates([(901.4, rate) for rate in (0.96, 0.99, 1.00, 1.02, 1.03)]),
}
"""Section 7.4 and figure 9: VR1 and VR2 are faster than expected, VR2 in bursts; the last file of
VR3 is 20 s late, that of VR4 7 s, and both are behind all along."""
