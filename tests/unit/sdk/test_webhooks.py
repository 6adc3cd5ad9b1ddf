"""Deliveries: only what the service signed just now is believed."""

from __future__ import annotations

import pytest

from secondface.control.webhooks import headers
from secondface.domain.deliveries import Delivery
from secondface.sdk import WebhookInvalid, verify_webhook

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = '{"data":{"id":"job_1","state":"succeeded"},"timestamp_ms":1000,"type":"job.succeeded"}'
DELIVERY = Delivery(
    id="msg_1", endpoint="hook_1", account="a", subject="job_1", kind="job.succeeded", body=BODY, due_ms=0
)
NOW_S = 1_700_000_000


def test_what_the_service_signs_is_read() -> None:
    event = verify_webhook(SECRET, headers(DELIVERY, SECRET, NOW_S), BODY.encode(), now_s=NOW_S + 5)
    assert (event.type, event.data.id, event.data.state) == ("job.succeeded", "job_1", "succeeded")


def test_a_vector_of_the_standard() -> None:
    # From the reference implementation of Standard Webhooks: secret, id, time, body and signature.
    given = {
        "Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "Webhook-Timestamp": "1614265330",
        "Webhook-Signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }  # fmt: skip
    with pytest.raises(WebhookInvalid, match="not an event"):  # signed well, but it is not one of ours
        verify_webhook(SECRET, given, '{"test": 2432232314}', now_s=1614265330)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"webhook-id": "msg_2"}, "does not fit"),
        ({"webhook-timestamp": str(NOW_S + 1)}, "does not fit"),
        ({"webhook-signature": "v1,AAAA"}, "does not fit"),
        ({"webhook-signature": "v2é"}, "does not fit"),
        ({"webhook-signature": ""}, "does not fit"),
        ({"webhook-timestamp": "soon"}, "not whole"),
    ],
)
def test_what_was_changed_is_refused(change: dict[str, str], words: str) -> None:
    with pytest.raises(WebhookInvalid, match=words):
        verify_webhook(SECRET, headers(DELIVERY, SECRET, NOW_S) | change, BODY, now_s=NOW_S)


@pytest.mark.parametrize("now_s", [NOW_S + 301, NOW_S - 301])
def test_what_is_too_old_or_in_the_future_is_refused(now_s: int) -> None:
    with pytest.raises(WebhookInvalid, match="too long ago"):
        verify_webhook(SECRET, headers(DELIVERY, SECRET, NOW_S), BODY, now_s=now_s)


def test_a_body_that_was_written_anew_is_refused() -> None:
    with pytest.raises(WebhookInvalid, match="does not fit"):
        verify_webhook(SECRET, headers(DELIVERY, SECRET, NOW_S), BODY.replace(",", ", "), now_s=NOW_S)


def test_of_several_signatures_one_that_fits_is_enough() -> None:
    signed = headers(DELIVERY, SECRET, NOW_S)
    signed["webhook-signature"] = f"v1,AAAA {signed['webhook-signature']}"
    assert verify_webhook(SECRET, signed, BODY, now_s=NOW_S).data.id == "job_1"
