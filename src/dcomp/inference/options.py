"""What users may say of algorithms; each algorithm lists which of these it takes."""

from __future__ import annotations

from dcomp.inference.keep import KINDS, Keep
from dcomp.models.options import Option

_CHAINS = "Course of a fit"

LOADINGS = Option(
    "loadings",
    "word",
    "treatment of loadings: mean, map or vb; for map: mean or map.",
    shown="mean; laplace: vb",
    metavar="NAME",
    panel=_CHAINS,
)
MAX_INNER = Option(
    "max_inner",
    "whole",
    "updates of a document per sweep, at most.",
    least=1,
    shown="5; map: 10; tempered-em: 3; laplace: 1",
    panel=_CHAINS,
)
HELD_OUT = Option(
    "held_out",
    "number",
    "share that is held out: tempered-em, of tokens, which say when to stop; "
    "stochastic-mean-field, of documents, whose completion is in the history.",
    shown="0.1; stochastic-mean-field: none",
    panel=_CHAINS,
)
SOLVER = Option(
    "solver",
    "word",
    "coordinate-descent or multiplicative.",
    shown="coordinate-descent",
    metavar="NAME",
    panel=_CHAINS,
)
LEARN_LOADINGS = Option(
    "learn_loadings",
    "switch",
    "whether loadings are learned, or held as they are at the start.",
    default=True,
    panel=_CHAINS,
)
BURN_IN = Option(
    "burn_in",
    "whole",
    "sweeps before the averages begin.",
    least=0,
    shown="half of --max-iter",
    panel=_CHAINS,
)
START = Option(
    "start",
    "word",
    "where it begins. Samplers: random, mean-field to begin near a mode, seeded near one of the "
    "seed's own, or auto: near modes where documents are long and a tenth of the counts are not 0, "
    "else random. Mean field, map, ml: "
    "seeded by documents, spectral, or auto: spectral unless most counts are 0. Laplace: "
    "collapsed-gibbs, mean-field, seeded, or auto: the first unless counts are fractional.",
    shown="auto",
    metavar="NAME",
    panel=_CHAINS,
)
N_TRIES = Option(
    "n_tries",
    "whole",
    "short climbs from different starts, of which the best is carried on; auto: 6 where the table "
    "is small, else 1.",
    words=("auto",),
    least=1,
    flags=("--tries",),
    shown="auto",
    panel=_CHAINS,
    refusal="tries the starts of a climb, and {algorithm} has none to try (n_chains= runs several "
    "from different starts and keeps the best)",
)
BATCH_SIZE = Option(
    "batch_size",
    "whole",
    "documents of a batch, about; auto: 128, or a 50th to a 200th of all.",
    words=("auto",),
    least=1,
    shown="auto",
    panel=_CHAINS,
)
DELAY = Option(
    "delay",
    "number",
    "of the step size (delay + steps)^-forgetting: how little the first batches are trusted.",
    least=1,
    shown="10",
    panel=_CHAINS,
)
FORGETTING = Option(
    "forgetting",
    "number",
    "the power of the step size, from 0.5 to 1: how soon early batches are forgotten.",
    shown="0.7",
    panel=_CHAINS,
)
ANNEAL = Option(
    "anneal",
    "whole",
    "first sweeps with priors that begin stronger; auto is four fifths of the burn-in.",
    words=("auto",),
    least=0,
    shown="0; ST: auto before a search and for document structures",
    panel=_CHAINS,
)
N_DRAWS = Option(
    "n_draws",
    "whole",
    "draws of the posterior to keep, spread over the sweeps after the burn-in.",
    default=0,
    least=0,
    flags=("--draws",),
    shown="none",
    panel="Draws",
    refusal="keeps draws of a sampler, and {algorithm} makes none",
)
DRAWS_OF = Option(
    "draws_of",
    "kinds",
    f"what a draw holds: {', '.join(KINDS)} (collapsed-gibbs), with commas between.",
    default=Keep().kinds,
    metavar="KINDS",
    shown=",".join(Keep().kinds),
    panel="Draws",
    needs="n_draws",
)
TRACE_WORDS = Option(
    "trace_words",
    "word",
    "log p(words | components, loadings) of each sweep, in the history (BJ06 figure 7): loadings "
    "at their mean, drawn, or both.",
    shown="none",
    metavar="NAME",
    panel=_CHAINS,
)
OF_SAMPLERS = (BURN_IN, START, ANNEAL, N_DRAWS, DRAWS_OF, TRACE_WORDS)
