"""The compiler: marked functions to machine code, by numba and LLVM, in processes of its own.

`serving` answers requests of ``machine.compiler`` by means of `exports`, which also makes the C
library and the WebAssembly modules. Nothing that plays imports this package.
"""
