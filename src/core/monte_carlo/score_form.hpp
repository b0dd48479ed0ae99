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

} // namespace btml::monte_carlo
