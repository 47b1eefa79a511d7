"""A Model as a file for others: `mjcf` for MuJoCo, `urdf` for ROS, Pinocchio and the rest."""

from .bodies import realizable as realizable
from .write_mjcf import ACTUATORS as ACTUATORS
from .write_mjcf import mjcf as mjcf
from .write_mjcf import mjcf_with_notes as mjcf_with_notes
from .write_urdf import urdf as urdf
from .write_urdf import urdf_with_notes as urdf_with_notes
from .xml_text import Export as Export
