"""ROS 2's message types for DDS: made of the definitions of recording/ros_messages.py, named as ROS 2 names them.

    idl("std_msgs/msg/Header")               the class `std_msgs::msg::dds_::Header_` of cyclonedds
    sample("std_msgs/msg/Header", value)     an object of it from the tuple of its fields
    fields("std_msgs/msg/Header", object)    the tuple of its fields again
    HASHES                                   type hashes (RIHS01), which Iron and later announce with an endpoint

The topic /joint_states of ROS 2 is "rt/joint_states" in DDS.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ...cell.recording.ros_messages import COMMON, NUMBERS, Value, fields_of
from ...errors import ElbowroomError, pip_install

EMPTY = "structure_needs_at_least_one_member"  # what ROS 2 gives a message without fields
HASHES = {
    "diagnostic_msgs/msg/DiagnosticArray": "5a8a36efb05fb25070fa0fb3810290c0e6cd4862b54a8fb975a1ee8dc55a333e",
    "geometry_msgs/msg/PoseArray": "af0cc36d190e104d546d168d6b39df04fa4b4ccecf59cb4c9ed328d3d5004aa0",
    "geometry_msgs/msg/PoseStamped": "10f3786d7d40fd2b54367835614bff85d4ad3b5dab62bf8bca0cc232d73b4cd8",
    "hri_msgs/msg/IdsList": "7e0812d1ac945c98fd3e393568d581ad0ab567f37b24eff633eab778c1bfe62d",
    "sensor_msgs/msg/JointState": "a13ee3a330e346c9d87b5aa18d24e11690752bd33a0350f11c5882bc9179260e",
    "std_msgs/msg/Empty": "20b625256f32d5dbc0d04fee44f43c41e51c70d3502f84b4a08e7a9c26a96312",
    "std_msgs/msg/Float64MultiArray": "1025ddc6b9552d191f89ef1a8d2f60f3d373e28b283d8891ddcc974e8c55397f",
    "std_msgs/msg/String": "df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18",
    "tf2_msgs/msg/TFMessage": "e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087",
    "trajectory_msgs/msg/JointTrajectory": "179b33eba59d676f6d967ac71fe35e7ca2f64b2f3928f4a018cec115e213796e",
    "visualization_msgs/msg/MarkerArray": "86cb8800b6fb05b5eff1abd7a56f62a5641d3ae9a1c29e78e67e704f1d067dcf",
}
"""Of the types that are sent or received, as rosbags computes them."""


def needs_cyclonedds() -> None:
    """An error that says how to get what speaks DDS, where it is missing."""
    try:
        import cyclonedds.core  # noqa: F401
    except ImportError as error:
        raise ElbowroomError(f"ROS 2 needs the package cyclonedds ({error}): {pip_install('connect')}") from None


def dds_name(name: str) -> str:
    """The name of a type in DDS: "std_msgs/msg/Header" is "std_msgs::msg::dds_::Header_"."""
    package, _, kind = name.split("/")
    return f"{package}::msg::dds_::{kind}_"


def ros_name(name: str) -> str:
    """The name of a type in ROS 2 from its name in DDS; as it is where it is none of ROS 2."""
    parts = name.split("::")
    return f"{parts[0]}/{parts[1]}/{parts[3][:-1]}" if len(parts) == 4 and parts[2] == "dds_" else name


def user_data(name: str) -> bytes:
    """What Iron and later announce of a type with each endpoint."""
    return f"typehash=RIHS01_{HASHES[name]};".encode() if HASHES.get(name) else b""


@cache
def idl(name: str) -> Any:
    """The class of a message type."""
    import cyclonedds.idl.types
    from cyclonedds.idl import make_idl_struct

    types: Any = cyclonedds.idl.types

    numbers = {kind: getattr(types, kind, None) for kind in NUMBERS}
    numbers |= {"bool": bool, "byte": types.uint8, "char": types.uint8}
    made: dict[str, Any] = {}
    for field in fields_of(name):
        one = numbers.get(field.type) or (str if field.type == "string" else idl(field.type))
        if field.array is None:
            made[field.name] = one
        else:
            made[field.name] = types.array[one, field.array] if field.array else types.sequence[one]
    return make_idl_struct(f"{name.rpartition('/')[2]}_", dds_name(name), made or {EMPTY: types.uint8})


def sample(name: str, value: Value) -> Any:
    """A message as an object of its class, from the tuple of its fields."""
    made = []
    for field, each in zip(COMMON[name], value, strict=True):
        if field.type in NUMBERS or field.type == "string":
            made.append(each if field.array is None else list(each))
        elif field.array is None:
            made.append(sample(field.type, each))
        else:
            made.append([sample(field.type, one) for one in each])
    return idl(name)(*made) if made else idl(name)(0)


def fields(name: str, message: Any) -> tuple[Value, ...]:
    """The tuple of a message's fields."""
    found: list[Value] = []
    for field in COMMON[name]:
        each = getattr(message, field.name)
        if field.type in NUMBERS or field.type == "string":
            found.append(each if field.array is None else tuple(each))
        elif field.array is None:
            found.append(fields(field.type, each))
        else:
            found.append(tuple(fields(field.type, one) for one in each))
    return tuple(found)
