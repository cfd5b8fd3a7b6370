"""The games outside Python: their rules and the search as WebAssembly, and a module to use them.

    python -m ludarium.play.build --output build/modules corso

`wasm` compiles a game from its unchanged Python sources; ``js/engine.js`` loads what comes out, in
a browser or in Node. ``docs/guide/wasm.md`` tells how.
"""
