"""The games outside Python: their rules and the search as WebAssembly or as native libraries, and
a page to play them on. In the package only the command line imports it: `build`, `native`, `parts`,
`server`, `site`, `variants` and `wasm`.

    python -m ludarium.play.build --output build/modules corso

`wasm` compiles a game from its unchanged Python sources; ``js/engine.js`` loads the result, in
a browser or in Node. ``docs/guide/wasm.md`` explains how. `native` makes libraries for C of the
same kernels, see ``docs/guide/c.md``.
"""
