// Includes Eigen under the house's rules: a broken assertion throws, memory comes from a Buffer and never from Eigen's
// own heap blocks (a product's temporaries fit on the stack when none of its sides is over 128), and threads
// are those of a ThreadTeam. In a file *_levels.cpp, Eigen is compiled for the level, in a namespace of its own;
// nothing is fused and vectors have four numbers at most, so that AVX-512 and AVX2 give the same bits.
#pragma once

#include "core/base/levels.hpp"

namespace btml {

// Throws Error internal, which names the condition that does not hold.
[[noreturn]] void broken_assertion(const char* condition);

} // namespace btml

#define eigen_assert(condition) ((condition) ? static_cast<void>(0) : btml::broken_assertion(#condition))
#define EIGEN_NO_MALLOC
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_MAX_ALIGN_BYTES 32
#define BTML_JOIN(a, b) a##_##b
#define BTML_NAME_OF_LEVEL(a, b) BTML_JOIN(a, b)
#define Eigen BTML_NAME_OF_LEVEL(Eigen, BTML_LEVEL)
#undef __FMA__
#undef __AVX512F__
#include <Eigen/Core>
// Cholesky's factor.
#include <Eigen/Cholesky>
