"""``python -m ricci.identities`` prints the page of the documentation."""

from ricci.identities import IDENTITIES, markdown

print(markdown(IDENTITIES), end="")
