"""Property tests draw the same examples in every run, so that a failure is one of the change at hand.

``HYPOTHESIS_PROFILE=explore`` draws new ones, to look further.
"""

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
