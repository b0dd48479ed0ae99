// Computes the logarithm of a long product, with a logarithm taken only when the product threatens to leave the double
// range.
#pragma once

#include <cmath>
#include <numbers>

namespace btml::gp {

class LogProduct {
  public:
    // Takes a factor from 1e-100 to 1e100.
    void multiply(double factor) {
        product_ *= factor;
        if (!(product_ > 1e-200 && product_ < 1e200)) [[unlikely]]
            normalise();
    }
    double log() const { return std::log(product_) + static_cast<double>(exponent_) * std::numbers::ln2; }

  private:
    void normalise() {
        int exponent = 0;
        product_ = std::frexp(product_, &exponent);
        exponent_ += exponent;
    }

    double product_ = 1;
    long exponent_ = 0;
};

} // namespace btml::gp
