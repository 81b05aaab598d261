"""What is said of work that somebody else has done: ``rc.check`` reads a chain of equalities line by line.

reading      a text → lines, each with the places of its sides
sides        a side → an expression, with the indices that its chain has; whether two are equal
rules        two sides → the rules that lead from one to the other
edits        a side → the sides that differ from it by one small change
terms        a side → what its terms must be multiplied by
culprits     a false side → the smallest change that makes it true
mistakes     that change → the name that a teacher has for it
false_rules  rules that there are not, and what they make of a derivative; false_rewritings of any expression
answers      what a derivative is, in its author's words
unknown      names that have a meaning without being defined
saying       all of that → verdicts; ``report`` shows them
reviewing    a text, line by line
"""
