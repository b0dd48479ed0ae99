#include "core/base/dataset.hpp"

namespace btml {

void refuse_no_training_rows(uint64_t rows, uint64_t held_out) {
    static constexpr const char* message = "there are no rows to train on";
    if (rows == 0) throw Error(ErrorCode::invalid_argument, message);
    throw Error(ErrorCode::invalid_argument, message,
                format("Of %llu rows, %llu are held out and %llu have weight 0.", static_cast<unsigned long long>(rows),
                       static_cast<unsigned long long>(held_out), static_cast<unsigned long long>(rows - held_out)));
}

void check_targets(double largest) {
    static constexpr double too_large = 1e150;
    if (!(largest < too_large))
        throw Error(ErrorCode::out_of_range, format("target value of magnitude %g is out of range", largest), {},
                    "Targets must be finite and below 1e150 in magnitude.");
}

} // namespace btml
