// The mean of numbers that come one after the other, and how sure it is (Welford: Note on a Method for Calculating
// Corrected Sums of Squares and Products, 1962).
#pragma once

#include <cmath>
#include <optional>

namespace btml {

class SampleMean {
  public:
    void add(double x) {
        const double difference = x - mean_;
        mean_ += difference / ++count_;
        squares_ += difference * (x - mean_);
    }
    double count() const { return count_; }
    double mean() const { return mean_; } // 0 without numbers
    // Returns the sum of the squared differences from the mean.
    double squares() const { return squares_; }
    // Returns the standard error of the mean of numbers drawn without replacement; left_out: the part of all numbers
    // that was not drawn. It is 0 where that is 0; of one number out of more nothing can be said.
    std::optional<double> std_error(double left_out = 1) const {
        if (left_out <= 0) return 0;
        if (count_ < 2) return std::nullopt;
        return std::sqrt(squares_ / (count_ - 1) / count_ * left_out);
    }

  private:
    double count_ = 0, mean_ = 0, squares_ = 0;
};

} // namespace btml
