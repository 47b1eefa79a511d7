"""A participant in a ROS 2 network: publishers, subscriptions, and who else is there.

    with Node(domain=0) as node:
        states = node.subscribe("/joint_states", "sensor_msgs/msg/JointState")
        commands = node.publish("/velocity_controller/commands", "std_msgs/msg/Float64MultiArray", RELIABLE)
        for message in states.take(): message.value, message.publisher
        commands.send(value)
        node.publishers("/velocity_controller/commands")        those of others

The network is this machine's loopback unless `interface` names another or CYCLONEDDS_URI is set (which then says all).
Nothing here waits: what has come is taken, what cannot be sent is counted.  `close` takes every endpoint off the
network.

Quality of service as ROS 2 has it: sensors best effort, commands and status reliable with the newest alone, and
/robot_description and /tf_static transient local, so that who comes later gets them, too.
"""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from typing import Any, NamedTuple, Self
from xml.sax.saxutils import quoteattr

from ...cell.recording.ros_messages import Value
from ...errors import ConfigError
from .types import fields, idl, needs_cyclonedds, ros_name, sample, user_data

LOOPBACK = "lo"
BEST_EFFORT, VOLATILE = "best effort; expected reliable", "volatile; expected transient local"
DOMAIN = "ROS_DOMAIN_ID"
URI = "CYCLONEDDS_URI"
AT_ONCE = 64  # messages of a topic that are taken at a time, so that a flood holds up nothing
_TOPIC = re.compile(r"/[A-Za-z_][A-Za-z0-9_]*(?:/[A-Za-z_][A-Za-z0-9_]*)*")


@dataclass(frozen=True)
class Quality:
    """Quality of service: whether lost messages are sent again, kept for who comes later, and how many are kept."""

    reliable: bool = False
    latched: bool = False
    depth: int = 5


SENSOR = Quality()
RELIABLE = Quality(reliable=True, depth=1)
TRANSFORMS = Quality(depth=100)
LATCHED = Quality(reliable=True, latched=True, depth=1)
STATIC = Quality(reliable=True, latched=True, depth=100)


class Message(NamedTuple):
    """A message: the tuple of its fields, and a number for who published it."""

    value: tuple[Value, ...]
    publisher: int


class Endpoint(NamedTuple):
    """Another's publisher of a topic: its type in ROS 2's words, its participant, and what of `Quality` it offers."""

    type: str
    participant: str
    reliable: bool = True
    latched: bool = True


def checked_topic(name: str) -> str:
    """The name of a topic, whole: "/arm/joint_states"."""
    if not _TOPIC.fullmatch(name):
        raise ConfigError(f"topic: expected a whole name such as /joint_states; got {name!r}")
    return name


def domain_of(given: int | None) -> int:
    """The DDS domain: as given, else that of ROS_DOMAIN_ID, else 0."""
    text = os.environ.get(DOMAIN, "") if given is None else str(given)
    if text and not (text.isascii() and text.isdigit() and int(text) <= 232):
        raise ConfigError(f"{'domain' if given is not None else DOMAIN}: expected a number from 0 to 232; got {text!r}")
    return int(text or 0)


def network(interface: str) -> str:
    """What CycloneDDS is told: one interface, and on the loopback no multicast but this machine as the only peer."""
    local = interface == LOOPBACK
    quiet = ' multicast="false"' if local else ""
    cards = f"<NetworkInterface name={quoteattr(interface)}{quiet}/>"
    general = f"<Interfaces>{cards}</Interfaces>" + ("<AllowMulticast>false</AllowMulticast>" if local else "")
    peers = '<Peers><Peer address="127.0.0.1"/></Peers>' if local else ""
    found = f"<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>{peers}"
    return f"<CycloneDDS><Domain><General>{general}</General><Discovery>{found}</Discovery></Domain></CycloneDDS>"


def quality_lacks(offered: Endpoint, asked: Quality) -> str:
    """Why DDS connects a subscription that asks for so much with no publisher that offers so little; "" if it does."""
    if asked.reliable and not offered.reliable:
        return BEST_EFFORT
    return VOLATILE if asked.latched and not offered.latched else ""


class Subscription:
    """Messages of a topic.  `refused` counts what could not be understood."""

    def __init__(self, topic: str, kind: str, reader: Any) -> None:
        self.topic, self.kind, self._reader = topic, kind, reader
        self.refused = 0

    def take(self) -> list[Message]:
        """What has come since the last time, the oldest first; at most `AT_ONCE`."""
        try:
            found = self._reader.take(AT_ONCE)
        except Exception:  # bytes that are none of this type, or a reader that is closed
            self.refused += 1
            return []
        messages = []
        for each in found:
            if not each.sample_info.valid_data:  # a publisher has left
                continue
            try:
                messages.append(Message(fields(self.kind, each), each.sample_info.publication_handle))
            except Exception:
                self.refused += 1
        return messages

    @property
    def publishers(self) -> int:
        """How many publishers there are with which it is connected."""
        try:
            return len(self._reader.get_matched_publications())
        except Exception:
            return 0


class Publisher:
    """Sends messages to a topic; `unsent` counts those that the network did not take."""

    def __init__(self, topic: str, kind: str, writer: Any) -> None:
        self.topic, self.kind, self._writer = topic, kind, writer
        self.unsent = 0

    def send(self, value: Value) -> bool:
        """Sends the tuple of a message's fields; whether the network took it.  Never waits, never raises."""
        try:
            self._writer.write(sample(self.kind, value))
        except Exception:  # DDS, or a value that is none of this type
            self.unsent += 1
            return False
        return True

    @property
    def subscribers(self) -> int:
        """How many subscribers there are with which it is connected."""
        try:
            return len(self._writer.get_matched_subscriptions())
        except Exception:
            return 0


class Node:
    """A participant; see the module's docstring.  `hashes=False` announces no type hashes, as Humble does not."""

    def __init__(self, domain: int | None = None, *, interface: str = LOOPBACK, hashes: bool = True) -> None:
        needs_cyclonedds()
        from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication
        from cyclonedds.core import DDSException
        from cyclonedds.domain import Domain, DomainParticipant

        if not interface or not interface.isprintable():
            raise ConfigError(f"interface: expected the name of a network interface, such as eth0; got {interface!r}")
        self.domain, self.interface, self.hashes = domain_of(domain), interface, hashes
        self.configured = os.environ.get(URI, "")
        self._entities: list[Any] = []
        self._joined = False
        try:
            _share(self.domain, self.configured or network(interface), Domain)
            self._joined = True
            self._participant = self._keep(DomainParticipant(self.domain))
            self._publications = self._keep(BuiltinDataReader(self._participant, BuiltinTopicDcpsPublication))
        except (DDSException, UnicodeEncodeError) as error:
            self.close()
            where = f"{URI} is set" if self.configured else f"interface {interface!r}"
            raise ConfigError(f"ROS 2: cannot join domain {self.domain} ({where}): {error}") from None
        self.id = str(self._participant.get_guid())
        self.friends: set[str] = {self.id}  # participants that are ours
        self._topics: dict[str, Any] = {}
        self._others: dict[str, tuple[str, Endpoint]] = {}  # publishers by their key: topic and what they are

    def _keep(self, entity: Any) -> Any:
        self._entities.append(entity)
        return entity

    def _topic(self, name: str, kind: str) -> Any:
        from cyclonedds.topic import Topic

        dds = f"rt{checked_topic(name)}"
        if dds not in self._topics:
            self._topics[dds] = self._keep(Topic(self._participant, dds, idl(kind)))
        return self._topics[dds]

    def _quality(self, quality: Quality, kind: str) -> Any:
        from cyclonedds.core import Policy, Qos

        hashed = [Policy.Userdata(user_data(kind))] if self.hashes and user_data(kind) else []
        return Qos(
            Policy.Reliability.Reliable(0) if quality.reliable else Policy.Reliability.BestEffort,
            Policy.Durability.TransientLocal if quality.latched else Policy.Durability.Volatile,
            Policy.History.KeepLast(quality.depth),
            *hashed,
        )

    def subscribe(self, topic: str, kind: str, quality: Quality = SENSOR) -> Subscription:
        """Messages of a topic, of a type such as "sensor_msgs/msg/JointState"."""
        from cyclonedds.sub import DataReader

        reader = self._keep(DataReader(self._participant, self._topic(topic, kind), qos=self._quality(quality, kind)))
        return Subscription(topic, kind, reader)

    def publish(self, topic: str, kind: str, quality: Quality = RELIABLE) -> Publisher:
        """A way to send messages of a type to a topic."""
        from cyclonedds.pub import DataWriter

        writer = self._keep(DataWriter(self._participant, self._topic(topic, kind), qos=self._quality(quality, kind)))
        return Publisher(topic, kind, writer)

    def publishers(self, topic: str) -> list[Endpoint]:
        """Who else publishes to a topic, whatever the type; not ourselves, nor `friends`."""
        self._discover()
        wanted = f"rt{topic}"
        return [of for at, of in self._others.values() if at == wanted and of.participant not in self.friends]

    def _discover(self) -> None:
        try:
            found = self._publications.take(256)
        except Exception:
            return
        for each in found:
            key = str(each.key)
            if each.sample_info.valid_data and each.sample_info.instance_state == _ALIVE:
                self._others[key] = each.topic_name, _endpoint(each)
            else:
                self._others.pop(key, None)

    def close(self) -> None:
        """Leaves the network."""
        for entity in reversed(self._entities):
            with contextlib.suppress(Exception):
                entity.__del__()
        self._entities = []
        if self._joined:
            self._joined = False
            _leave(self.domain)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _endpoint(found: Any) -> Endpoint:
    """What discovery says of a publisher."""
    from cyclonedds.core import Policy

    offered, best, volatile = found.qos, Policy.Reliability.BestEffort, Policy.Durability.Volatile
    reliable = Policy.Reliability not in offered or offered[Policy.Reliability] != best
    latched = Policy.Durability not in offered or offered[Policy.Durability] != volatile
    return Endpoint(ros_name(found.type_name), str(found.participant_key), reliable, latched)


_ALIVE = 16  # DDS_IST_ALIVE
_DOMAINS: dict[int, tuple[Any, str, int]] = {}  # of this process: the domain, its configuration, how many nodes it has


def _share(domain: int, configuration: str, make: Any) -> None:
    """A process has a domain once, for all of its nodes."""
    known, given, count = _DOMAINS.get(domain, (None, configuration, 0))
    if given != configuration:
        raise ConfigError(f"interface: this process is in domain {domain} by another interface already")
    _DOMAINS[domain] = make(domain, configuration) if known is None else known, configuration, count + 1


def _leave(domain: int) -> None:
    known, configuration, count = _DOMAINS.pop(domain)
    if count > 1:
        _DOMAINS[domain] = known, configuration, count - 1
    else:
        known.__del__()
