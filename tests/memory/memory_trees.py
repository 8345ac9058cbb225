"""Small trees of a memory, made for these tests."""

from __future__ import annotations

import datetime as dt

TRIP = """
<Plan name="Weekend in Porto">
  <Day index="1">
    <Visit name="Market hall" time="09:00" note="fish, fruit, coffee"/>
    <Meal name="Tasca by the bridge" time="12:30" note="lunch, grilled sardines"/>
    <Visit name="Tram museum" time="15:00" note="old trams, indoors"/>
  </Day>
  <Day index="2">
    <Visit name="River walk" time="10:00" note="outdoors along the Douro"/>
    <Meal name="Garden kitchen" time="19:30" note="dinner, vegetarian"/>
  </Day>
</Plan>
"""


class Clock:
    """A clock that a test sets."""

    def __init__(self, text: str = "2031-01-01T12:00:00+00:00") -> None:
        self.time = dt.datetime.fromisoformat(text)

    def __call__(self) -> dt.datetime:
        return self.time

    def set(self, text: str) -> None:
        self.time = dt.datetime.fromisoformat(text)
