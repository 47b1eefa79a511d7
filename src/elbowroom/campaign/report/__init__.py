"""Reports: what a campaign's table says, or a search found, as one HTML page beside it."""

from .sections import page as page
from .sections import write as write
