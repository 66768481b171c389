"""Text embeddings: one model per process, and what every model offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from deepcritical_mcp.evidence.embedding.calibration import Calibration

Kind = Literal["query", "document"]


class EmbeddingModel(Protocol):
    """A loaded model. `embed` blocks and is thread-safe."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """One unit vector per text, [texts, dimension]. Some models embed queries and documents differently.

        Raises:
            EmbeddingError: the model failed on these texts.
        """
        ...


class ModelSource(Protocol):
    """A model that can be loaded."""

    @property
    def name(self) -> str:
        """Identifies the model. Vectors of models with different names must never be compared."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector; 0 if unknown before the model is loaded."""
        ...

    @property
    def workers(self) -> int:
        """How many threads can usefully embed at once."""
        ...

    @property
    def calibration(self) -> Calibration | None:
        """The thresholds and weights measured with this model; None if there are none."""
        ...

    def load(self) -> EmbeddingModel:
        """Load the model, which takes from a fraction of a second to minutes.

        Raises:
            EmbeddingError: it cannot be loaded; the message says what to do.
        """
        ...
