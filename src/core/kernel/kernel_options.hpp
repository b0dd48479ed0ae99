// Says what a caller chooses of a kernel sum.
#pragma once

#include "core/base/options_table.hpp"
#include "core/pairwise/kernels/kernels.hpp"

namespace btml::kernel {

using namespace pairwise; // which has the kernels, and the tiles that evaluate them

enum class Scale : uint8_t {
    none,
    sd // each coordinate is divided by its standard deviation over the keys (n − 1); one that is constant stays
};

enum class Method : uint8_t { automatic, exact, sampled };

// Says what is formed of the sums s_c = Σ_j value_jc·k(q, key_j).
enum class Quantity : uint8_t {
    sum,     // s_0; value 0 is the weight
    density, // s_0 / (Σ weights · ∫k), the integral in the units of the columns
    mean     // s_c / s_0 for c ≥ 1: value 0 is the weight, value c the weight times a target (Nadaraya–Watson)
};

struct Options {
    double bandwidth = 0; // in units of the columns, or of their standard deviations with Scale::sd; 0: to be chosen
    Kernel kernel{};
    Scale scale = Scale::none;
    Method method = Method::automatic;
    // Holds with probability `confidence` at least: ‖y − Kx‖₂ ≤ epsilon·‖x‖₂ for sums of the weights x, and
    // ‖y − exact‖₂ ≤ epsilon·‖exact‖₂ over all queries and columns for densities and means.
    double epsilon = 0.1;
    double confidence = 0.99;
    uint64_t seed = 0;

    // Error invalid_argument for a bandwidth that is not positive and finite, an epsilon outside (0, 1] and a
    // confidence outside (0, 1), null_value for a bandwidth that is still to be chosen.
    void check() const;
};

extern const OptionsTable<Options> options_table;

} // namespace btml::kernel
