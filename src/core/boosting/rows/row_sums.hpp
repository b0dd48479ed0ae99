// What sums over rows are made of: parts that workers and peers add up, whatever their order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace btml::boosting {

// Adds a sum to another: numbers, exact sums, or what is below.
template <class Sum>
void add_sum(Sum& to, const Sum& sum) {
    if constexpr (requires { to.add(sum); })
        to.add(sum);
    else
        to += sum;
}

// Holds a sum over rows, and the weight that it is to be divided by.
template <class Sum, class Weight = Sum>
struct WeightedSum {
    Sum sum{};
    Weight weight{};

    WeightedSum& operator+=(const WeightedSum& other) {
        add_sum(sum, other.sum);
        add_sum(weight, other.weight);
        return *this;
    }
};

// Holds a sum over the rows that are trained on, and one over those that are held out.
template <class Sum>
struct SumsByRole {
    Sum trained{}, held_out{};

    SumsByRole& operator+=(const SumsByRole& other) {
        add_sum(trained, other.trained);
        add_sum(held_out, other.held_out);
        return *this;
    }
};

// Holds a sum for each of some things by number, labels say; those behind the last one are 0.
template <class Sum>
struct SumList : std::vector<Sum> {
    SumList& operator+=(const SumList& other) {
        this->resize(std::max(this->size(), other.size()));
        for (size_t i = 0; i < other.size(); i++) add_sum((*this)[i], other[i]);
        return *this;
    }
};

// Returns the larger number, NaN when either is.
inline double larger(double a, double b) {
    return std::isnan(a) || b <= a ? a : b;
}

// The largest of some numbers, NaN when one is.
struct Largest {
    double number = 0;

    Largest& operator+=(const Largest& other) {
        number = larger(number, other.number);
        return *this;
    }
};

} // namespace btml::boosting
