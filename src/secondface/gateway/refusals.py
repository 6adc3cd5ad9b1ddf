"""What only a server refuses: requests whose form, size, speed or address it does not take.

BadRequest (secondface.errors)
├── BodyInvalid, BodyTooLarge, BodyTooSlow, ContentTypeUnsupported, NotAcceptable, RangeUnsatisfiable
└── RouteMissing, MethodNotAllowed, AddressForbidden, FetchFailed
"""

from __future__ import annotations

from secondface.errors import BadRequest


class BodyInvalid(BadRequest):
    """The request's body or parameters do not have the form that this address expects.

    The message names the field; `/openapi.json` describes every request with an example.
    """

    code = "body_invalid"


class BodyTooLarge(BadRequest):
    """The request's body is larger than this address takes.

    Send large files to the link that POST /v1/uploads gives, and name the upload in the request.
    """

    code = "body_too_large"


class BodyTooSlow(BadRequest):
    """The request's body came too slowly, so it was not waited for.

    Send it again over a faster connection; nothing was stored.
    """

    code = "body_too_slow"


class ContentTypeUnsupported(BadRequest):
    """The request's body is of a type that this address does not take.

    Send application/json, or multipart/form-data with the files as parts.
    """

    code = "content_type_unsupported"


class NotAcceptable(BadRequest):
    """None of the types that the request accepts can be made.

    Accept image/jpeg, image/png, image/webp or image/avif.
    """

    code = "not_acceptable"


class RangeUnsatisfiable(BadRequest):
    """The range that was asked for lies outside of the file.

    Ask without a Range header first; Content-Length says how long the file is.
    """

    code = "range_unsatisfiable"


class RouteMissing(BadRequest):
    """There is nothing at this address.

    `/openapi.json` lists every address of the service.
    """

    code = "route_missing"


class MethodNotAllowed(BadRequest):
    """This address does not take that method.

    The Allow header names the methods that it takes.
    """

    code = "method_not_allowed"


class AddressForbidden(BadRequest):
    """The service does not connect to that address.

    Give an http or https address on the public internet; an operator can allow private networks in the settings.
    """

    code = "address_forbidden"


class FetchFailed(BadRequest):
    """The file at the address that was given could not be fetched.

    Check that the address answers 200 to a plain GET without a login, or upload the file instead.
    """

    code = "fetch_failed"
