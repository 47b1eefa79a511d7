"""`elbowroom campaign`: `command` runs one, `search` looks for the worst, `report` writes the page, `progress` the bar.

What runs them, in `elbowroom.campaign`, is imported when a campaign is run.
"""

from .command import app as app
from .command import bounds as bounds
