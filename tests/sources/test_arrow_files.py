"""A damaged length in an Arrow file is said in a sentence, and does not end the process."""

import struct

import numpy as np
import polars as pl
import pytest

from wayveil.errors import InputError
from wayveil.sources.arrow_files import require_lengths
from wayveil.sources.formats import open_part
from wayveil.sources.reading import Reading

NAMES = [f"stop {place % 7}" for place in range(9_000)]
TABLE = pl.DataFrame({"n": np.arange(9_000), "stop": NAMES, "kind": pl.Series(NAMES, dtype=pl.Categorical)})


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_sound_files_pass(tmp_path, compression):
    TABLE.write_ipc(tmp_path / "rows.arrow", compression=compression)
    require_lengths(tmp_path / "rows.arrow")
    assert open_part(tmp_path / "rows.arrow", Reading()).read(["n"]).height == 9_000


def test_a_length_beyond_the_file_is_refused(tmp_path):
    path = tmp_path / "rows.arrow"
    TABLE.select("n").write_ipc(path, compression="uncompressed")
    content, length = path.read_bytes(), struct.pack("<q", 8 * TABLE.height)
    assert content.count(length) >= 1
    path.write_bytes(content.replace(length, struct.pack("<q", 1 << 62)))
    with pytest.raises(InputError, match="is not a arrow file, or is damaged"):
        open_part(path, Reading())
