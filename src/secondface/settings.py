"""Every setting of secondface, one row each: name, type, default, description.

Decides where values come from (environment, then one TOML file, then the default) and keeps the source beside each.
A secret can also lie in a file of its own, which a variable with _FILE behind its name points to.
Must not know what the values are used for; only `compose` and `cli` read them.
"""

from __future__ import annotations

import os
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from secondface.confidential import FILE_ENDING, SecretAddress, secrets_in_files
from secondface.errors import InvalidSetting

ENV_PREFIX = "SECONDFACE_"
CONFIG_VARIABLE = "SECONDFACE_CONFIG"
"""Names the TOML file; the one variable that is not itself a setting."""


WORKER_SECRETS = frozenset({"database"})
"""Secrets that a worker needs too; all others stay with the process that was given them."""


def _folder(variable: str, fallback: str) -> Path:
    return Path(os.environ.get(variable) or _home() / fallback) / "secondface"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        # A container may run as a user that has no home and no name.
        return Path(tempfile.gettempdir())


def config_file() -> Path:
    """The TOML file that is read when it exists: $SECONDFACE_CONFIG, else config.toml in the user's config folder."""
    named = os.environ.get(CONFIG_VARIABLE)
    return Path(named) if named else _folder("XDG_CONFIG_HOME", ".config") / "config.toml"


class Settings(BaseSettings):
    """All settings, frozen. `Settings()` reads the environment and the file."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, frozen=True, extra="forbid", env_ignore_empty=True, hide_input_in_errors=True
    )

    lang: Literal["auto", "en", "zh"] = Field(
        default="auto", description="Language of messages; auto follows LC_ALL, LC_MESSAGES and LANG."
    )
    device: Literal["auto", "cpu", "cuda", "tensorrt"] = Field(
        default="auto", description="Where models run; auto takes the fastest device that works on this machine."
    )
    device_id: int = Field(default=0, ge=0, le=1023, description="Which card models run on where there are several.")
    device_memory_mb: int = Field(
        default=0, ge=0, description="Device memory that one model may reserve, in MiB; 0 lets it take what it needs."
    )
    reduced_precision: bool = Field(
        default=True, description="On a GPU, let models compute in 16 bits (TensorRT) or TF32 (CUDA), which is faster."
    )
    threads: int = Field(default=0, ge=0, le=1024, description="Threads of one model call on the CPU; 0 chooses.")
    cache_dir: Path = Field(
        default_factory=lambda: _folder("XDG_CACHE_HOME", ".cache"),
        description="Folder for what can be built again, such as compiled TensorRT engines.",
    )
    restore: str = Field(
        default="auto",
        pattern=r"^(auto|off|0(\.\d+)?|1(\.0+)?)$",
        description="How much the swapped face is restored: auto, off, or a strength from 0 to 1.",
    )
    label: Literal["both", "zh", "en"] = Field(
        default="both", description="Language of the visible label: AI生成, AI-generated, or both."
    )
    content_producer: str = Field(
        default="",
        max_length=120,
        pattern=r"^[\x21-\x7e]*$",
        description="Your name or registered code for the AIGC metadata, in printable ASCII; empty leaves it out.",
    )
    signing_chain_file: str = Field(
        default="",
        description="PEM file of the certificates that outputs are signed under, leaf first; empty: an authority of "
        "this machine, made once in data_dir.",
    )
    signing_key_file: str = Field(
        default="", description="PEM file of the private key (P-256, no password) of the first of those certificates."
    )
    trusted_roots_file: str = Field(
        default="",
        description="PEM file of further authorities whose signatures `verify` calls trusted.",
    )
    timestamp_server: str = Field(
        default="",
        pattern=r"^(https?://[^\s#]+)?$",
        description="Timestamp server (RFC 3161) that signatures are stamped by; empty: none. Without its answer "
        "outputs are signed without a timestamp.",
    )
    local_moderation: Literal["on", "off"] = Field(
        default="on",
        description="Whether runs on this machine refuse pictures for adults, as a service always looks for them.",
    )
    moderation_url: str = Field(
        default="",
        pattern=r"^(https?://[^\s]+)?$",
        description="Service that judges pictures in place of the model that is built in; empty: none.",
    )
    moderation_secret_file: str = Field(
        default="", description="File with the secret (whsec_ and base64) that signs what is sent to that service."
    )
    moderation_timeout_ms: int = Field(
        default=5_000, ge=100, le=60_000, description="Milliseconds that one answer of that service may take."
    )
    moderation_when_away: Literal["fail", "flag"] = Field(
        default="fail",
        description="When that service does not answer: fail hands nothing out and tries again, flag lets a reviewer "
        "look.",
    )
    tier: str = Field(default="cpu", description="Device class whose price is shown while a run is under way.")
    market: Literal["on_demand", "spot"] = Field(default="on_demand", description="Market whose price is shown.")
    max_megapixels: int = Field(
        default=0,
        ge=0,
        le=1024,
        description="Largest picture or frame that is opened, in millions of pixels; 0 chooses.",
    )
    max_frames: int = Field(default=0, ge=0, description="Longest video that is opened, in frames; 0 sets no limit.")
    max_faces: int = Field(
        default=0,
        ge=0,
        le=256,
        description="Faces that are followed at once; 0 chooses: 16 in a video, 64 in a picture.",
    )
    data_dir: Path = Field(
        default_factory=lambda: _folder("XDG_DATA_HOME", ".local/share"),
        description="Folder of the service: its database, stored files, and what its workers write down.",
    )
    database: SecretAddress = Field(
        default=SecretAddress(""),
        description="Database of the service: sqlite:///FILE or postgresql://USER@HOST/NAME; empty is a file in "
        "data_dir.",
    )
    server: str = Field(
        default="", description="Service that commands speak to instead of this machine, as http://HOST:PORT."
    )
    api_key: SecretStr = Field(default=SecretStr(""), description="Key for that service.")
    listen_host: str = Field(
        default="127.0.0.1", description="Address that the service listens on; 0.0.0.0 is every network."
    )
    listen_port: int = Field(default=8080, ge=0, le=65535, description="Port that the service listens on.")
    public_url: str = Field(
        default="",
        pattern=r"^(https?://[^\s?#]+)?$",
        description="Address under which callers reach the service; signed links begin with it. Empty: host and port.",
    )
    trusted_proxies: str = Field(
        default="",
        description="Proxies whose word about a caller's address is believed, with commas between; empty: none.",
    )
    web_origins: str = Field(
        default="", description="Origins of web pages that may call the service, with commas between; empty: none."
    )
    private_networks: str = Field(
        default="",
        description="Private networks that webhooks and addresses of inputs may lead to, with commas between: "
        "10.1.0.0/16.",
    )
    upload_most_mb: int = Field(default=2048, ge=1, description="Largest file that can be sent to the service, in MiB.")
    upload_keep_h: int = Field(
        default=72, ge=24, le=10_000, description="Hours for which uploaded files are kept when no job needs them."
    )
    scanner: str = Field(
        default="",
        description="clamd, to which every file of a caller goes before it is used: HOST:PORT or the path of its "
        "socket; empty: files are not scanned.",
    )
    scanner_answer_s: int = Field(
        default=300, ge=1, le=3_600, description="Seconds that the scanner may take for one file; then it is refused."
    )
    secrets_dir: str = Field(
        default="",
        description="Folder of the service's own keys, which sign the audit and encrypt one-time codes; empty is "
        "data_dir. Servers of one database share it.",
    )
    retain_inputs_h: int = Field(
        default=72,
        ge=0,
        le=100_000,
        description="Hours after a job's end for which its inputs are kept; an account's plan may say another number.",
    )
    retain_outputs_h: int = Field(
        default=720,
        ge=0,
        le=100_000,
        description="Hours after a job's end for which its result is kept; an account's plan may say another number.",
    )
    approval_wait_h: int = Field(
        default=24, ge=1, le=8_760, description="Hours after which a job that nobody approved ends by itself."
    )
    audit_retain_days: int = Field(
        default=366,
        ge=184,
        le=36_600,
        description="Days for which the audit is kept: half a year at least, as long as labels that were left off "
        "must be known.",
    )
    workers_least: int = Field(
        default=0, ge=0, le=1024, description="Worker processes that are always there; 0 lets the last one go."
    )
    workers_most: int = Field(
        default=0, ge=0, le=1024, description="Worker processes at most; 0 chooses by the processors of this machine."
    )
    worker_jobs: int = Field(
        default=0, ge=0, le=64, description="Jobs that one worker runs at once, sharing its device; 0 chooses."
    )
    worker_cage: Literal["auto", "require", "off"] = Field(
        default="auto",
        description="Whether jobs run in a process of their own that can reach nothing but their files: auto where "
        "this machine can do it, require refuses to start where it cannot, off never.",
    )
    worker_idle_s: int = Field(default=60, ge=1, description="Seconds without work after which a worker ends.")
    worker_grace_s: int = Field(
        default=20, ge=0, description="Seconds that a worker may go on when it is told to end; then its jobs move on."
    )
    worker_backoff_s: int = Field(
        default=30,
        ge=0,
        description="Seconds more to wait with the next worker after each further crash in a row, ten minutes at most.",
    )
    worker_cost_micros: int = Field(
        default=0,
        ge=0,
        description="What a worker costs its operator a second, in micro-units of the currency, for the operator's "
        "side of the ledger; 0 books nothing.",
    )
    lease_s: int = Field(
        default=15, ge=2, le=600, description="Seconds without a word after which a worker's job is given to another."
    )
    heartbeat_ms: int = Field(
        default=1_000,
        ge=50,
        le=60_000,
        description="Milliseconds between two words of a worker; it hears of a cancel or a cost limit by then.",
    )
    batch_rows: int = Field(
        default=32, ge=1, le=256, description="Rows of several jobs that one model call may take; 1 shares none."
    )
    batch_wait_ms: int = Field(
        default=2,
        ge=0,
        le=1_000,
        description="Milliseconds that a model call on a GPU waits for rows of other jobs; on the CPU none.",
    )
    log_file: Path = Field(
        default_factory=lambda: _folder("XDG_STATE_HOME", ".local/state") / "secondface.log",
        description="Where the details of an internal fault are written.",
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003  the library passes all four by name
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        from_files = InitSettingsSource(settings_cls, secrets_in_files(os.environ, secret_variables()))
        return init_settings, env_settings, from_files, TomlConfigSettingsSource(settings_cls, config_file())

    @property
    def max_pixels(self) -> int | None:
        return self.max_megapixels * 1_000_000 or None

    def limits(self) -> dict[str, int | None]:
        """The limits of one run, as a request names them."""
        return {
            "max_pixels": self.max_pixels,
            "max_frames": self.max_frames or None,
            "max_faces": self.max_faces or None,
        }


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting as `config show` prints it."""

    name: str
    variable: str
    value: str
    source: str
    """`default`, the name of an environment variable, or the path of the TOML file."""
    description: str


def load_settings(**overrides: object) -> Settings:
    """Settings from overrides, environment and file; a wrong value is InvalidSetting with its name and source."""
    _check_config_file()
    try:
        return Settings(**overrides)  # type: ignore[arg-type]
    except ValidationError as fault:
        raise InvalidSetting("; ".join(_explain(e) for e in fault.errors(include_url=False))) from fault


def setting_rows(settings: Settings) -> list[SettingRow]:
    """Each setting with its value, where that came from, and what it means."""
    from_env = EnvSettingsSource(Settings)()
    from_file = TomlConfigSettingsSource(Settings, config_file())()
    secret = secrets_in_files(os.environ, secret_variables())
    rows: list[SettingRow] = []
    for name, field in Settings.model_fields.items():
        variable = ENV_PREFIX + name.upper()
        source = variable if name in from_env else str(config_file()) if name in from_file else "default"
        source = f"{variable}{FILE_ENDING}" if name in secret else source
        rows.append(SettingRow(name, variable, str(getattr(settings, name)), source, field.description or ""))
    return rows


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Variables with our prefix that name no setting: most likely a slip of the pen."""
    known = {ENV_PREFIX + name.upper() for name in Settings.model_fields} | {CONFIG_VARIABLE}
    known |= {f"{variable}{FILE_ENDING}" for variable in secret_variables().values()}
    return sorted(name for name in environment if name.startswith(ENV_PREFIX) and name not in known)


def secret_variables() -> dict[str, str]:
    """Each setting that is a secret, with its variable; the same with _FILE behind it names a file that holds it."""
    return {
        name: ENV_PREFIX + name.upper()
        for name, field in Settings.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, SecretStr)
    }


def secret_files() -> list[Path]:
    """The files that secrets are read from on this machine: those that variables name, and the TOML file with one."""
    variables = secret_variables()
    named = [Path(path) for each in variables.values() if (path := os.environ.get(f"{each}{FILE_ENDING}"))]
    in_toml = TomlConfigSettingsSource(Settings, config_file())()
    return [*named, *([config_file()] if in_toml.keys() & variables.keys() else [])]


def _check_config_file() -> None:
    path = config_file()
    if not path.exists():
        if os.environ.get(CONFIG_VARIABLE):
            raise InvalidSetting(f"{CONFIG_VARIABLE} names {path}, which does not exist.", path=str(path))
        return
    try:
        tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
        raise InvalidSetting(f"{path}: {fault}", path=str(path)) from fault


def _explain(error: ErrorDetails) -> str:
    name = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        return f"{config_file()}: there is no setting {name}"
    variable = ENV_PREFIX + name.upper()
    written = next((each for each in (variable, f"{variable}{FILE_ENDING}") if os.environ.get(each)), None)
    where = written or f"{name} in {config_file()}"
    return f"{where}: {error['msg']}"
