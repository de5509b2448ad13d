"""What can be asked of new documents once components are known."""

from dcomp.predict.predictor import Predictor
from dcomp.predict.words import WordTable, document_number

__all__ = ["Predictor", "WordTable", "document_number"]
