"""Say how many processes a cluster of several has, and with what they are started."""

import msgspec

from moorage.client.election.elector import ElectionTimes

#: More members make etcd slower, and a machine fuller, without surviving more than three failures.
MOST_MEMBERS = 7


class HaSettings(msgspec.Struct, frozen=True):
    """`members` is the number of etcd members, API servers, schedulers and controller managers alike."""

    members: int
    etcd_binary: str = ""
    #: The text of the scheduler's configuration; empty for the default one.
    scheduler_config: str = ""
    #: What --devices was given, and the texts of those that are files.
    devices: tuple[str, ...] = ()
    device_files: dict[str, str] = {}
    election: ElectionTimes = ElectionTimes()


def members_problem(members: int) -> str:
    """Return why a cluster cannot have so many members; empty if it can."""
    if not 1 <= members <= MOST_MEMBERS:
        return f"must be an odd number from 1 to {MOST_MEMBERS}"
    if members % 2 == 0:
        most = members // 2 + 1
        return (
            f"must be odd: {most} of {members} etcd members must agree, so that {members} survive the loss of "
            f"{members - most}, as {members - 1} do"
        )
    return ""
