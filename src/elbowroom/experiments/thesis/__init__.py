"""Chapter 4 of the thesis: seven tests as data files, run, measured, drawn and reported."""

from .experiment import SCENES as SCENES
from .experiment import Job as Job
from .experiment import read as read
from .experiment import run_job as run_job
