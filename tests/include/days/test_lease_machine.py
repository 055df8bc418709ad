"""Random holders of cores that stall, die and come back, with others in the middle of their puts.

What runs is never more than the ceiling, as long as a run whose lease could not be renewed ends
within its patience; no core is lost for good; and no run is given cores while a final run past its
latest start waits for them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from forerun.include.state.slots import SlotRequest
from forerun.include.times.leases import Leases
from tests.include.days.clocked_store import ClockedStore
from tests.include.days.test_leases import LEASE_S, TWO, wants

RUNS = 5
NIGHT = replace(TWO, priorities={"board": 1})
SLOPPY = 1.2
"""A holder may notice by so much too late, by its own clock, that its patience is over."""


@dataclass
class Actor:
    """A task that wants cores: when it was heard of last, and whether its application runs."""

    wanted: SlotRequest
    waits: bool = False
    runs: bool = False
    heard: float = field(default=0.0)


class LeaseMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.store = ClockedStore()
        self.leases = Leases(self.store, NIGHT)
        self.tries = 0
        self.actors = [self.fresh(place, cores=1) for place in range(RUNS)]

    def fresh(self, place: int, cores: int, final: bool = False, latest: float = 0.0) -> Actor:
        self.tries += 1
        at = self.store.now + latest
        token = f"{place}-{self.tries}"
        owner = "board" if place % 2 else "team"
        return Actor(wants(token, at, owner=owner, cores=cores, final=final, run_s=40.0))

    @rule(
        who=st.integers(0, RUNS - 1),
        cores=st.integers(1, 2),
        final=st.booleans(),
        latest=st.sampled_from([-5000.0, -500.0, 100.0]),
    )
    def arrive(self, who, cores, final, latest):
        """Begin another try; the one before it, if there is one, is never heard of again."""
        before = self.actors[who]
        if before.runs:
            return
        self.actors[who] = self.fresh(who, cores, final, latest)

    @rule(who=st.integers(0, RUNS - 1), other=st.integers(0, RUNS - 1), cuts_in=st.booleans())
    def take(self, who, other, cuts_in):
        if cuts_in and other != who:
            self.store.between = lambda: self._take(self.actors[other])
        self._take(self.actors[who])
        self.store.between = lambda: None

    def _take(self, actor: Actor) -> None:
        if actor.runs:
            return
        rivals = [one for one in self.actors if one is not actor and self._is_heard(one)]
        actor.waits, actor.heard = True, self.store.now
        if self.leases.take(actor.wanted):
            return
        actor.waits, actor.runs = False, True
        past = [one.wanted for one in rivals if one.wanted.is_urgent(self.store.now) and one.waits]
        if past:
            assert actor.wanted.is_urgent(self.store.now)
            assert actor.wanted.latest_start <= min(one.latest_start for one in past)

    def _is_heard(self, one: Actor) -> bool:
        return one.waits and self.store.now - one.heard <= LEASE_S / 2

    @rule(who=st.integers(0, RUNS - 1), other=st.integers(0, RUNS - 1), cuts_in=st.booleans())
    def renew(self, who, other, cuts_in):
        if cuts_in and other != who and self.actors[who].runs:
            self.store.between = lambda: self._take(self.actors[other])
        self._renew(self.actors[who])
        self.store.between = lambda: None

    def _renew(self, actor: Actor) -> None:
        if not actor.runs:
            return
        heard = self.store.now
        actor.runs = self.leases.renew(actor.wanted)
        actor.heard = heard

    @rule(
        who=st.integers(0, RUNS - 1), seconds=st.sampled_from([120.0, 310.0]), renews=st.booleans()
    )
    def stall(self, who, seconds, renews):
        """Stalls between its look and its put; time passes for others meanwhile."""
        self.store.between = lambda: self.pass_time(seconds)
        (self._renew if renews else self._take)(self.actors[who])
        self.store.between = lambda: None

    @rule(who=st.integers(0, RUNS - 1), released=st.booleans())
    def end(self, who, released):
        """Ends well, or dies: then nobody says so."""
        actor = self.actors[who]
        if actor.runs and released:
            self.leases.release(actor.wanted)
        if actor.runs:
            self.actors[who] = self.fresh(who, 1)

    @rule(seconds=st.sampled_from([310.0, 140.0, 60.0, 1.0]))
    def pass_time(self, seconds):
        """Whoever was not heard of for the whole of its patience ends by itself."""
        self.store.now += seconds
        for actor in self.actors:
            if actor.runs and self.store.now - actor.heard > actor.wanted.patience_s * SLOPPY:
                actor.runs = False

    @rule()
    def damage(self):
        """The record is torn. Whoever runs has then to be heard of within a lease."""
        if self.store.find(self.leases.keys.slots):
            self.store.put(self.leases.keys.slots, b"{")

    @invariant()
    def no_more_run_than_the_ceiling(self):
        assert sum(one.wanted.cores for one in self.actors if one.runs) <= NIGHT.most

    def teardown(self):
        """Where nobody runs any more, all cores can be had after one lease; two if it was torn."""
        for _ in range(2):
            self.store.now += LEASE_S + 1
            found = self.leases.take(wants("last", 0.0, cores=2, final=True))
            if not found:
                break
        assert found == ""


LeaseMachine.TestCase.settings = settings(
    max_examples=200,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
TestLeaseMachine = LeaseMachine.TestCase
