"""Who starts the server, as a sweep file says it."""

import pytest


@pytest.fixture
def launcher(sweep):
    """The launcher and its options in a sweep file with `text` as its value."""

    def read(text):
        (server,) = sweep(
            f"name: l\nserver: {{launcher: {text}}}\narms: [autoregressive]\n"
        ).servers
        return server.launcher, dict(server.launcher_options)

    return read


def test_without_a_word_about_it_the_server_is_a_subprocess(sweep):
    (server,) = sweep("name: l\narms: [autoregressive]\n").servers

    assert (server.launcher, server.launcher_options) == ("subprocess", ())


def test_systemd_alone_has_no_options(launcher):
    assert launcher("systemd") == ("systemd", {})


def test_every_option_of_a_transient_unit_is_read(launcher):
    kind, options = launcher(
        "{systemd: {scope: system, memory_max: 64G, cpu_affinity: 0-7 16, slice: gpu.slice,"
        " timeout_stop_s: 45}}"
    )

    assert kind == "systemd"
    assert options == {
        "scope": "system",
        "memory_max": "64G",
        "cpu_affinity": "0-7 16",
        "slice": "gpu.slice",
        "timeout_stop_s": "45",
    }


def test_sizes_and_cpus_may_be_bare_numbers(launcher):
    _, options = launcher("{systemd: {memory_max: 1073741824, cpu_affinity: 3}}")

    assert options == {"memory_max": "1073741824", "cpu_affinity": "3"}


def test_what_may_be_done_to_an_existing_unit_is_read(launcher):
    kind, options = launcher("{systemd-unit: {name: sglang@2.service, allow: restart}}")

    assert kind == "systemd-unit"
    assert options == {"name": "sglang@2.service", "allow": "restart"}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("{systemd: {memory_max: lots}}", "memory_max"),
        ("{systemd: {memory_max: true}}", "memory_max"),
        ("{systemd: {cpu_affinity: all}}", "cpu_affinity"),
        ("{systemd: {slice: inference}}", "slice"),
        ("{systemd: {timeout_stop_s: 0}}", "timeout_stop_s"),
        ("{systemd: {scope: global}}", "scope"),
        ("{systemd: {restart: always}}", "restart"),
        ("{systemd-unit: {name: sglang}}", "name"),
        ("{systemd-unit: {name: ../sglang.service}}", "name"),
        ("{systemd-unit: {name: sglang.service, allow: stop}}", "allow"),
        ("{systemd-unit: {name: sglang.service, memory_max: 1G}}", "memory_max"),
    ],
)
def test_what_systemd_would_not_take_is_refused_by_key(refusal, text, key):
    message, _ = refusal(f"name: l\nserver: {{launcher: {text}}}\narms: [autoregressive]\n")

    assert f"{key}`" in message
