"""What an operator decides about the HTTP side; values come from the settings, through `compose`."""

from __future__ import annotations

from dataclasses import dataclass, field

from secondface.gateway.bodies import BodyLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayOptions:
    """Limits, addresses and time-outs of the HTTP side."""

    bodies: BodyLimits = field(default_factory=BodyLimits)
    uploads_at_once: int = 64
    link_s: int = 3_600
    """How long the link of an upload holds."""
    swap_wait_s: int = 30
    """How long POST /v1/swap waits where the request does not say."""
    most_wait_s: int = 120
    fetch_s: float = 60.0
    """For the whole of an input that is fetched from an address."""
    address_per_minute: int = 3_000
    """Requests of one address, with good keys or bad ones."""
    refused_per_minute: int = 60
    """Bad keys of one address: nobody guesses 256 bits, but look-ups are not free."""
    origins: tuple[str, ...] = ()
    """Web pages of these origins may call the API; none by default."""
    private_networks: tuple[str, ...] = ()
    """Private networks that input addresses and webhooks may lead to all the same: `10.1.0.0/16`."""
    metrics_open: bool = True
    """Whether /metrics needs no key; it names no customer."""
    heartbeat_s: float = 15.0
    """Silence on an event stream after which a comment is sent, so that proxies keep it open."""
