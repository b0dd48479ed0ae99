#include "core/base/dataset.hpp"

namespace btml {

void refuse_no_training_rows(uint64_t rows, uint64_t held_out) {
    static constexpr const char* message = "there are no rows to train on";
    if (rows == 0) throw Error(ErrorCode::invalid_argument, message);
    throw Error(ErrorCode::invalid_argument, message,
                format("Of %" PRIu64 " rows, %" PRIu64 " are held out and %" PRIu64 " have weight 0.", rows, held_out,
                       rows - held_out));
}

void check_targets(double largest) {
    static constexpr double too_large = 1e150;
    if (!(largest < too_large))
        throw Error(ErrorCode::out_of_range, format("target value of magnitude %g is out of range", largest), {},
                    "Targets must be finite and below 1e150 in magnitude.");
}

} // namespace btml
