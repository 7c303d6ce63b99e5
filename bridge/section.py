"""What all groups of settings have in common."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A group of settings; a key it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)
