"""Why outputs cannot be signed on this machine."""

from __future__ import annotations

from secondface.errors.provider import ProviderFault


class SigningUnavailable(ProviderFault):
    """Outputs cannot be signed here, so none is made.

    Name a chain and its key by signing_chain_file and signing_key_file, or make data_dir writable.
    API: Tell the operator of the service; you are not charged.
    """

    code = "signing_unavailable"
    retryable = False
