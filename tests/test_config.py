"""The settings of the core and of the sources, read together."""

import subprocess
import sys

import pytest
from pydantic import SecretStr

from deepcritical_mcp.config import Setting, Settings, every_setting, load_settings
from deepcritical_mcp.errors import ConfigurationError
from deepcritical_mcp.evidence.storage import ChromaServerSettings
from deepcritical_mcp.sources.settings import PubMedSettings, WebSettings

SECRETS = [setting for setting in every_setting() if setting.info.annotation is SecretStr]


def test_keywords_set_core_and_source_settings_alike():
    settings = Settings(deadline=7, ncbi_base_url="http://ncbi.example/", web_delay=2)
    assert settings.deadline == 7
    assert settings.of(PubMedSettings).ncbi_base_url == "http://ncbi.example"
    assert settings.of(WebSettings).web_delay == 2
    assert settings.model_copy(update={"deadline": 8.0}).of(WebSettings).web_delay == 2


def test_no_two_settings_share_a_name_or_a_variable():
    settings = every_setting()
    assert len({setting.field for setting in settings}) == len(settings)
    assert len({setting.variable for setting in settings}) == len(settings)
    assert all(setting.description for setting in settings)


def test_there_are_secrets_of_the_core_and_of_the_sources():
    assert {setting.variable for setting in SECRETS} == {
        *("NCBI_API_KEY", "TAVILY_API_KEY", "BRAVE_API_KEY", "SERPAPI_API_KEY"),
        *("DEEPCRITICAL_REDIS_URL", "DEEPCRITICAL_AUTH_TOKENS", "DEEPCRITICAL_CHROMA_TOKEN", "DEEPCRITICAL_CHROMA_URL"),
    }


@pytest.mark.parametrize("setting", SECRETS, ids=lambda setting: setting.variable)
def test_every_secret_is_hidden(setting: Setting, monkeypatch: pytest.MonkeyPatch):
    value = "https://ada:sesame-0123456789@host" if "_URL" in setting.variable else "ada:sesame-0123456789"
    monkeypatch.setenv(setting.variable, value)
    settings = load_settings()
    assert value in settings.secrets
    shown = "".join(map(str, (settings, *map(settings.of, (PubMedSettings, WebSettings, ChromaServerSettings)))))
    assert "sesame" not in repr(settings) + shown


def test_tokens_and_passwords_within_a_secret_are_hidden_too():
    settings = Settings(auth_tokens="ada:token-1,bob:token-2", redis_url="rediss://user:se%2Fsame@redis.example:6380/0")
    assert {"token-1", "token-2", "se/same"} <= set(settings.secrets)


def test_every_wrong_variable_is_named_and_none_of_the_values(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DEEPCRITICAL_DEADLINE", "-5.25")
    monkeypatch.setenv("NCBI_API_KEY", "two words")
    monkeypatch.setenv("DEEPCRITICAL_BRAVE_BASE_URL", "ftp://brave")
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    message = caught.value.message
    for variable in ("DEEPCRITICAL_DEADLINE", "NCBI_API_KEY", "DEEPCRITICAL_BRAVE_BASE_URL"):
        assert message.count(variable) == 1
    assert not any(value in message for value in ("-5.25", "two words", "ftp://brave"))


def test_reading_settings_imports_no_source():
    heavy = {"httpx", "lxml", "numpy", "chromadb", "deepcritical_mcp.sources.base", "deepcritical_mcp.net.client"}
    code = (
        "import sys; from deepcritical_mcp.config import load_settings; load_settings(); "
        f"print({heavy!r} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
