#include "core/data/dataset.hpp"

#include "core/data/nothing_to_train_on.hpp"

#include <cmath>

namespace btml {

void refuse_no_training_rows(uint64_t rows, uint64_t held_out) {
    static constexpr const char* message = "there are no rows to train on";
    if (rows == 0) throw NothingToTrainOn(message);
    throw NothingToTrainOn(message,
                           format("Of %" PRIu64 " rows, %" PRIu64 " are held out and %" PRIu64 " have weight 0.", rows,
                                  held_out, rows - held_out));
}

void check_finite(double number, const char* what) {
    if (!std::isfinite(number))
        throw Error(ErrorCode::out_of_range,
                    format("%s is %s in a row", what, std::isnan(number) ? "NaN" : "infinite"));
}

void check_given(double number, const char* what) {
    if (is_null(number)) throw Error(ErrorCode::null_value, format("%s is NULL in a row", what));
    check_finite(number, what);
}

void check_weight(double weight, const char* what) {
    check_given(weight, what);
    if (weight < 0)
        throw Error(ErrorCode::out_of_range, format("%s is %g in a row", what, weight),
                    "Weights must not be negative.");
}

void check_targets(double largest) {
    static constexpr double too_large = 1e150;
    if (!(largest < too_large))
        throw Error(ErrorCode::out_of_range, format("target value of magnitude %g is out of range", largest), {},
                    "Targets must be finite and below 1e150 in magnitude.");
}

} // namespace btml
