// A function compiled for several kinds of x86 processors, the fitting one chosen when the library is loaded.
#pragma once

// The sanitizers' start-up cannot run before the loader resolves clones.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define BTML_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define BTML_CLONES
#endif
