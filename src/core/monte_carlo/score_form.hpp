// Says what a cross-validation score is of: its kind, its kernel and their bandwidths.
#pragma once

#include "core/pairwise/convolution.hpp"

#include <optional>

namespace btml::monte_carlo {

using pairwise::Kernel;

enum class ScoreKind { kde, kr, kcde, likelihood };

constexpr bool has_target(ScoreKind kind) {
    return kind == ScoreKind::kr || kind == ScoreKind::kcde;
}

inline constexpr const char* score_kinds[] = {"kde", "kr", "kcde", "likelihood"};

inline const char* name_of(ScoreKind kind) {
    return score_kinds[static_cast<size_t>(kind)];
}

struct ScoreForm {
    // Throws invalid_argument for a kernel that a score of this kind cannot have: for kde one whose convolution with
    // itself is not known, and for likelihood one that is 0 from some distance on, where the logarithm is infinite.
    ScoreForm(ScoreKind kind_of_score, Kernel kernel_of_points, size_t dimensions);

    ScoreKind kind;
    Kernel kernel;                                    // is that of the points; the target's in S_KCDE is Gaussian
    std::optional<pairwise::Convolution> convolution; // is there for kde
};

// `target` is for S_KCDE alone.
struct Bandwidths {
    double x, target = 0;
};

struct ScoreEstimate {
    double value = 0;
    double std_error = 0; // is 0 for an exact score
    double lower = 0, upper = 0;
    uint64_t evaluations = 0; // counts those of the kernel
    uint64_t rows_seen = 0;   // counts those of the outermost sum
    uint64_t underflows = 0;  // counts those of them whose weights all underflow
};

} // namespace btml::monte_carlo
