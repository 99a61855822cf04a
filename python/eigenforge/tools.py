"""Where the run-time compiler of CUDA is."""

from __future__ import annotations

import os
from pathlib import Path


def find_compiler() -> None:
    """Names the NVRTC of the extra ``[cuda]`` to the library, unless the environment names one. Nothing is loaded."""
    if os.environ.get("EIGENFORGE_NVRTC"):
        return
    wheels = Path(__file__).resolve().parent.parent / "nvidia"
    for folder in (*wheels.glob("cu*/lib"), wheels / "cuda_nvrtc" / "lib"):
        if any(folder.glob("libnvrtc.so*")):
            os.environ["EIGENFORGE_NVRTC"] = str(folder)
            return
