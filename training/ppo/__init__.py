"""Self-play PPO: sb3-contrib's `MaskablePPO` over our games, networks and opponents.
`training.run` imports `loop`; nothing else is meant for other packages.
"""
