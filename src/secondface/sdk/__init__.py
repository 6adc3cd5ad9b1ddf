"""Use a service from Python: `Client`, and `AsyncClient` with the same methods.

Knows the specification and the errors, and httpx; no picture, no price book and no store.
"""

from secondface.sdk.async_client import AsyncClient
from secondface.sdk.client import Client
from secondface.sdk.inputs import JobWords
from secondface.sdk.jobs import Picture
from secondface.sdk.problems import AnswerUnreadable, ServiceRefused, ServiceUnreachable, WebhookInvalid
from secondface.sdk.retries import Retries
from secondface.sdk.webhooks import verify_webhook

__all__ = [
    "AnswerUnreadable",
    "AsyncClient",
    "Client",
    "JobWords",
    "Picture",
    "Retries",
    "ServiceRefused",
    "ServiceUnreachable",
    "WebhookInvalid",
    "verify_webhook",
]
