"""The compiler: marked functions to machine code, by numba and LLVM, in processes of its own.

`serving` answers requests of ``machine.compiler``. The C library and the WebAssembly modules are
made with `exports` too. Nothing that plays imports this package.
"""
