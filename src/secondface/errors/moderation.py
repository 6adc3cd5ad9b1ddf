"""What is shown, or whose face it is, may not be used here; and a judge of pictures that cannot be asked."""

from __future__ import annotations

from secondface.errors.provider import ProviderFault
from secondface.errors.tree import SecondfaceError


class TrustProblem(SecondfaceError):
    """What the files show, or whose face they show, may not be used here.

    The message names the rule, the file and the frame; use other pictures.
    """

    code = "trust_problem"
    fault = "caller"


class ContentRefused(TrustProblem):
    """A picture or a frame shows what may not be worked on.

    The message names the rule, the file, the frame and its time; use other pictures, or leave that part of the video
    out with --from and --to.
    API: The message and the job's `findings` name the rule, the input, the frame and its time; send other pictures, or
    leave that part of the video out with `video.begin` and `video.end`.
    """

    code = "content_refused"


class SourceProtected(TrustProblem):
    """A source shows somebody whose face must not be given to others.

    Use a picture of somebody else; the operator of the service keeps the list of protected people.
    """

    code = "source_protected"


class LikenessUnconfirmed(TrustProblem):
    """The account's plan wants to hear that you may use the likenesses of the sources.

    Say so with --likeness-confirmed, if it is true: it is stored with the job.
    API: Set `likeness_confirmed`, if it is true: it is stored with the job.
    """

    code = "likeness_unconfirmed"


class ReviewRefused(TrustProblem):
    """Somebody looked at the result and refused it.

    The job's `reason` says why; `secondface jobs show` shows it.
    API: The job's `reason` says why.
    """

    code = "review_refused"


class ProtectedMissing(TrustProblem):
    """There is no entry of that name in the list of protected people.

    `secondface protected list` lists the entries.
    API: GET /v1/admin/protected lists the entries.
    """

    code = "protected_missing"


class ModerationUnavailable(ProviderFault):
    """The service that judges pictures does not answer, so nothing is handed out.

    Run it again in a moment; `moderation_url` in the settings names that service.
    API: Send it again in a moment; you are not charged.
    """

    code = "moderation_unavailable"
