#include "core/monte_carlo/score_form.hpp"

#include "core/base/error.hpp"

namespace btml::monte_carlo {

static bool suits(ScoreKind kind, const pairwise::KernelFacts& kernel) {
    if (kind == ScoreKind::kde) return kernel.order > 0;
    return kind != ScoreKind::likelihood || !kernel.is_compact;
}

ScoreForm::ScoreForm(ScoreKind kind_of_score, Kernel kernel_of_points, size_t dimensions)
    : kind(kind_of_score), kernel(kernel_of_points) {
    if (!suits(kind, facts_of(kernel))) {
        std::string others;
        for (size_t i = 0; i < pairwise::Kernels::size; i++)
            if (const auto& other = pairwise::facts_of(Kernel(i)); suits(kind, other))
                others += (others.empty() ? "" : ", ") + std::string(other.name);
        throw Error(ErrorCode::invalid_argument,
                    format("score \"%s\" cannot have the kernel \"%s\"", name_of(kind), facts_of(kernel).name),
                    kind == ScoreKind::kde ? "It needs the kernel's convolution with itself."
                                           : "It needs a kernel that is above 0 everywhere.",
                    format("Kernels of this score are: %s.", others.c_str()));
    }
    if (kind == ScoreKind::kde) convolution.emplace(kernel, dimensions);
}

} // namespace btml::monte_carlo
