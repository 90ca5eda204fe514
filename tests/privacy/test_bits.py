import os
import threading

import numpy as np
import pytest

from wayveil.privacy import bits as module
from wayveil.privacy.bits import EntropyError, KeptBits, SecureBits, SeededBits, secure_bits
from wayveil.privacy.noise import discrete_laplace

pytestmark = pytest.mark.system_bits


@pytest.fixture
def keys_taken(monkeypatch):
    """How much entropy was asked for, call by call."""
    asked, urandom = [], os.urandom
    monkeypatch.setattr(module.os, "urandom", lambda n: asked.append(n) or urandom(n))
    return asked


def in_child(draw, count):
    """What `draw` gives in a forked process, as `count` words of 64 bits."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, draw().astype(np.int64).tobytes())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        drawn = np.frombuffer(pipe.read(), np.int64)
    os.waitpid(child, 0)
    assert len(drawn) == count
    return drawn


@pytest.mark.parametrize("source", [SecureBits(), SeededBits(1)], ids=["secure", "seeded"])
def test_every_bit_of_a_word_is_a_fair_coin(source):
    n = 1 << 18
    words = source.words(n)
    for bit in range(64):
        ones = int((words >> np.uint64(bit) & np.uint64(1)).sum())
        assert abs(ones - n / 2) < 6 * (n / 4) ** 0.5


@pytest.mark.parametrize("source", [SecureBits(), SeededBits(1)], ids=["secure", "seeded"])
def test_no_word_is_handed_out_twice_whatever_the_sizes_asked_for(source):
    words = np.concatenate([source.words(n) for n in (1, 7, 4095, 4096, 4097, 2, 300_000, 0, 5)])
    assert len(np.unique(words)) == len(words) == 1 + 7 + 4095 + 4096 + 4097 + 2 + 300_000 + 5


def test_words_already_handed_out_do_not_change():
    source = SecureBits()
    first = source.words(100)
    kept = first.copy()
    for _ in range(100):
        source.words(100)
    assert (first == kept).all()


def test_forked_workers_never_repeat_a_draw():
    source = secure_bits()
    source.words(3)  # the parent's buffer is full of words that a careless child would use again
    draws = [in_child(lambda: source.words(1000), 1000) for _ in range(4)]
    draws.append(source.words(1000).astype(np.int64))
    together = np.concatenate(draws)
    assert len(np.unique(together)) == len(together)


def test_the_fork_test_can_fail():
    source = SeededBits(1)
    assert (in_child(lambda: source.words(10), 10) == in_child(lambda: source.words(10), 10)).all()


def test_forked_workers_draw_different_noise():
    discrete_laplace(10, 1000)
    children = [in_child(lambda: discrete_laplace(50, 1000), 50) for _ in range(2)]
    assert (children[0] != children[1]).any()
    assert (children[0] != discrete_laplace(50, 1000)).any()


def test_a_fork_that_ran_no_hook_is_noticed_by_its_process_id(monkeypatch, keys_taken):
    source = SecureBits()
    source.words(1)
    before = len(keys_taken)
    source.words(1)
    assert len(keys_taken) == before
    monkeypatch.setattr(module.os, "getpid", lambda: -1)
    source.words(1)
    assert len(keys_taken) == before + 2


def test_a_key_makes_a_bounded_amount_of_output(monkeypatch, keys_taken):
    monkeypatch.setattr(module, "BYTES_PER_KEY", 1 << 16)
    source = SecureBits()
    for _ in range(8):
        source.words(1 << 13)
    assert keys_taken == [32, 16] * 8
    assert len(np.unique(source.words(1 << 15))) == 1 << 15
    assert keys_taken == [32, 16] * 12


@pytest.mark.parametrize("failure", [OSError("no device"), NotImplementedError()])
def test_missing_entropy_is_an_error_and_never_weaker_noise(monkeypatch, failure):
    def fail(count):
        raise failure

    monkeypatch.setattr(module.os, "urandom", fail)
    with pytest.raises(EntropyError, match="no random bits"):
        discrete_laplace(5, 20, SecureBits())


def test_threads_never_share_a_word():
    source, drawn = SecureBits(), []

    def work():
        drawn.append(np.concatenate([source.words(n % 50) for n in range(2000)]))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    together = np.concatenate(drawn)
    assert len(np.unique(together)) == len(together) == 8 * 49_000


def test_a_seed_repeats_its_words_and_says_that_it_is_not_private():
    whole = SeededBits(7).words(20)
    parts = SeededBits(7)
    assert (np.concatenate([parts.words(3), parts.words(17)]) == whole).all()
    assert (SeededBits(8).words(20) != whole).all()
    assert not SeededBits(7).private


def test_secure_bits_are_private_and_cannot_be_seeded():
    assert secure_bits().private
    assert secure_bits() is secure_bits()
    with pytest.raises(TypeError):
        SecureBits(7)


def test_kept_bits_refuse_another_process(monkeypatch):
    bits = KeptBits(KeptBits.new_key())
    bits.words(1)
    monkeypatch.setattr(module.os, "getpid", lambda: -1)
    with pytest.raises(EntropyError, match="belongs to one process"):
        bits.words(1)


@pytest.mark.parametrize("count", [5, 40, 129, 1000])
def test_kept_bits_go_on_with_fresh_words_when_a_stream_is_used_up(monkeypatch, count):
    monkeypatch.setattr(module, "BYTES_PER_KEY", 8 * 64)
    key = KeptBits.new_key()
    bits = KeptBits(key)
    words = np.concatenate([bits.words(count) for _ in range(40)])
    assert len(np.unique(words)) == len(words), "a word is handed out once, over many streams of 64 words"
    again = KeptBits(key)
    assert np.array_equal(np.concatenate([again.words(count) for _ in range(40)]), words)
