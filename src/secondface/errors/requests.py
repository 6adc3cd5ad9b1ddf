"""Requests that cannot be run as they stand; nothing was run, so nothing is charged."""

from __future__ import annotations

from secondface.errors.tree import SecondfaceError


class BadRequest(SecondfaceError):
    """The request cannot be run as it stands.

    Correct the option named in the message and send it again.
    """

    code = "bad_request"
    fault = "caller"


class InvalidPipeline(BadRequest):
    """The pipeline is not valid.

    `secondface steps` lists the steps and their parameters.
    API: GET /v1/steps lists the steps and their parameters.
    """

    code = "invalid_pipeline"


class UnknownStep(InvalidPipeline):
    """There is no step of that name.

    `secondface steps` lists the steps and their parameters.
    API: GET /v1/steps lists the steps and their parameters.
    """

    code = "unknown_step"


class StepUnloadable(InvalidPipeline):
    """A step that another package brings cannot be used.

    `secondface steps` says why; repair or remove that package, or leave the step out.
    API: Leave the step out, or ask the operator of the service to repair the package that brings it.
    """

    code = "step_unloadable"


class InvalidOption(BadRequest):
    """An option has a value that it cannot take.

    `secondface run --help` explains each option with examples.
    API: The message names the field; `/openapi.json` describes each field with an example.
    """

    code = "invalid_option"


class InvalidSetting(BadRequest):
    """A setting has a value that it cannot take.

    `secondface config show` prints each setting, where its value came from, and what it means.
    API: The service is set up wrongly; tell its operator.
    """

    code = "invalid_setting"


class TooManySources(BadRequest):
    """There are more source people than faces chosen in the target.

    Use one source, or say who gets which face with --map SOURCE=INDEX or --map SOURCE=REFERENCE_IMAGE.
    Several pictures of one person belong together: --same-person combines them.
    API: Send one source, or say with `mapping` which source goes to which face. Several pictures of one person belong
    together: `same_person` combines them.
    """

    code = "too_many_sources"


class MappingUnresolved(BadRequest):
    """The choice of faces names a source or a face that does not exist.

    Faces count from 0, left to right. --faces takes such numbers; --map takes SOURCE=INDEX or SOURCE=REFERENCE_IMAGE,
    with SOURCE one of the -s files.
    API: An entry of `mapping` is {"source": N, "index": FACE} (faces count from 0, left to right) or {"source": N,
    "like": INPUT}; sources count from 0.
    """

    code = "mapping_unresolved"


class OutputNotWritable(BadRequest):
    """The output cannot be written there.

    Choose a folder that exists and that you may write to.
    """

    code = "output_not_writable"


class OutputExists(BadRequest):
    """The output is one of the inputs.

    Choose another name for the output.
    """

    code = "output_exists"


class OutputOccupied(BadRequest):
    """A file of the output's name exists already.

    Choose another name, or pass -y to overwrite it.
    API: Choose another name.
    """

    code = "output_occupied"


class OutputFormatUnsupported(BadRequest):
    """The output format cannot hold this result.

    For pictures use .png, .jpg, .webp, .avif, .tiff or .gif; for animations .gif, .webp or .apng; for video .mp4,
    .mov, .mkv or .webm.
    API: Choose with `output`: png, jpeg, webp, avif or tiff for pictures; gif, webp or apng for animations; mp4, mov,
    mkv or webm for video.
    """

    code = "output_format_unsupported"


class CodecUnavailable(BadRequest):
    """This machine cannot run that encoder or decoder.

    Leave the option out to use the processor, or pass --encoder gpu, which takes what the machine has and says so.
    API: Leave the codec or the encoder out of `video`, so that the service chooses.
    """

    code = "codec_unavailable"
