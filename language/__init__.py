"""Language models as players: games as text, agents that ask an endpoint, and what they are worth.
Import from its modules: `text` writes questions and reads answers, `agent` plays, `evaluation`
measures.
"""
