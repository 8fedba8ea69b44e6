"""Short messages, wanted and unwanted, put together from hand-written phrases: text to try a filter on.

A message is a greeting or none, two to four phrases and a farewell or none. Phrases come from those of its own kind,
from phrases that both kinds use and, now and then, from those of the other kind, so that no single word decides.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np

from didact.core.errors import ParameterError
from didact.core.random import streams

SPAM = (
    "you have won a cash prize", "claim your free prize now", "limited time offer just for you",
    "earn money from home", "no credit check needed", "cheap pills without prescription",
    "lose weight in ten days", "your account has been selected", "click the link to confirm your bank details",
    "double your income this month", "risk free investment with guaranteed profit",
    "genuine luxury watches at 90 percent off",
    "act now before it is too late", "congratulations lucky winner", "free entry into our weekly draw",
    "get a loan today at the lowest rate", "meet singles in your area", "exclusive deal for selected customers",
    "buy one get two free", "your parcel is held, pay the fee now", "crypto profits while you sleep",
    "unsubscribe by replying with your password", "urgent transfer of million dollars", "casino bonus waiting for you",
    "cash in your pocket tonight", "this is not a scam", "order now and save money", "miracle cure doctors hate",
)  # fmt: skip
MAIL = (
    "the meeting is moved to monday at ten", "please find the minutes attached",
    "can you review the draft before friday",
    "lunch at noon in the canteen", "the train arrives at half past six", "mum asks when you come for dinner",
    "thanks for the photos of the children", "the results of the second experiment look odd",
    "i pushed the fix to the branch", "the invoice of the plumber is paid", "could you water the plants next week",
    "the seminar is in room four", "see the comments on page three", "your book is ready at the library",
    "the dentist called about your appointment", "let us talk about the budget tomorrow", "i will be late for practice",
    "happy birthday to your sister", "the server was down last night", "who brings the salad on saturday",
    "the committee agreed to the schedule", "the key is under the flower pot",
    "we still need a speaker for the workshop",
    "your parcel is with the neighbour", "the report is due on thursday", "my flight leaves early in the morning",
    "good luck with the exam", "the cat is fine and eats well",
)  # fmt: skip
BOTH = (
    "please answer soon", "let me know today", "this is important", "i have a question for you",
    "more in the next message",
    "call me on my mobile", "the offer is open until friday", "it is free of charge", "see the link below",
    "your order has been sent", "the price is lower than last year", "sorry for the short notice",
)  # fmt: skip
GREETINGS = ("hello", "hi", "dear friend", "good morning", "dear all", "", "", "")
FAREWELLS = ("best wishes", "thanks", "see you", "your team", "", "", "")


def make_messages(
    n_samples: int = 600, spam: float = 0.35, mixing: float = 0.06, random_state: Any = 0
) -> tuple[list[str], Any]:
    """Short messages and their labels "mail" and "spam", made of hand-written phrases by a rule.

    Each message is of the kind spam with the probability `spam`. Each of its two to four phrases comes from the other
    kind with the probability `mixing`, from phrases of both kinds with 0.2, and else from its own kind. Cost: a few
    draws a message.

    References
    ----------
    Sahami, Dumais, Heckerman, Horvitz (1998), A Bayesian approach to filtering junk e-mail: the task.

    Examples
    --------
    >>> from didact.datasets import make_messages
    >>> texts, labels = make_messages(4, random_state=1)
    >>> texts[2]
    'dear friend, we still need a speaker for the workshop, the key is under the flower pot'
    >>> labels.tolist()
    ['mail', 'spam', 'mail', 'spam']
    """
    if not isinstance(n_samples, Integral) or n_samples < 1:
        raise ParameterError(f"n_samples must be a whole number of at least 1, not {n_samples!r}.")
    if not (isinstance(spam, Real) and isinstance(mixing, Real)) or not 0 < spam < 1 or not 0 <= mixing <= 0.8:
        raise ParameterError("spam must lie between 0 and 1, and mixing between 0 and 0.8.")
    rng = streams(random_state, 1)[0]
    unwanted = rng.uniform(size=n_samples) < spam
    texts = []
    for own, other in ((SPAM, MAIL) if flag else (MAIL, SPAM) for flag in unwanted):
        kinds = rng.choice(3, size=rng.integers(2, 5), p=[0.8 - mixing, 0.2, mixing])
        phrases = [str(rng.choice((own, BOTH, other)[kind])) for kind in kinds]
        parts = [str(rng.choice(GREETINGS)), *phrases, str(rng.choice(FAREWELLS))]
        texts.append(", ".join(part for part in parts if part))
    return texts, np.where(unwanted, "spam", "mail")
