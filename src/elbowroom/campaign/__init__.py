"""Campaigns: encounters of arms and people by the million, drawn from a file, one row per run.

campaign = load("campaign.toml")
with Store.create(folder, campaign, runs=1000, precision="float64") as store:
    execute(campaign, store, engine("local", workers=2))
table = read(folder)                                        # a pyarrow.Table
"""

from .draws import RunParameters as RunParameters
from .draws import parameters as parameters
from .draws import parameters_of as parameters_of
from .engines import Block as Block
from .engines import Engine as Engine
from .engines import Watch as Watch
from .engines import engine as engine
from .execute import execute as execute
from .finds import Find as Find
from .finds import read_finds as read_finds
from .finds import write_finds as write_finds
from .runs import Schema as Schema
from .runs import replay as replay
from .runs import rows as rows
from .runs import schema as schema
from .settings import Campaign as Campaign
from .settings import load as load
from .settings import loads as loads
from .store import Store as Store
from .store import StoreError as StoreError
from .store import read as read
from .store import read_rows as read_rows
