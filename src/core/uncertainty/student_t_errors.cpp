#include "core/uncertainty/calibration.hpp"

#include "core/numbers/elementary.hpp"
#include "core/numbers/student_t.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace btml::uncertainty {

namespace {

// Returns about `most` of the numbers, each in the middle of those that it stands for, over the largest magnitude.
Buffer<double> scaled_squares(std::span<const double> sorted, double largest, RunContext& context) {
    static constexpr size_t most = 4001;
    const size_t count = std::min(most, sorted.size());
    Buffer<double> squares(context.memory(), "squares of a calibration", count);
    for (size_t i = 0; i < count; i++) {
        const size_t place = (2 * i + 1) * sorted.size() / (2 * count);
        squares[i] = (sorted[place] / largest) * (sorted[place] / largest);
    }
    return squares;
}

class StudentLikelihood {
  public:
    StudentLikelihood(std::span<const double> squares, RunContext& context) : squares_(squares), context_(context) {
        static constexpr double part = 1e-6, tiny = 1e-300;
        const double usual = usual_square();
        least_ = std::max(usual * part, tiny);
        greatest_ = 4; // the largest square is 1
    }

    // Returns the likeliest scale, squared, of a distribution with so many degrees of freedom: the mean of
    // (df + 1)·r/(df + r), r = z²/scale², falls with the scale and is 1 there.
    double scale_squared(double df) const {
        double least = logarithm(least_), greatest = logarithm(greatest_);
        static constexpr int halvings = 40;
        for (int i = 0; i < halvings; i++) {
            const double middle = (least + greatest) / 2;
            (mean_influence(df, exponential(middle)) > 1 ? least : greatest) = middle;
        }
        return std::max(least_, exponential((least + greatest) / 2));
    }

    double nll(double df, double scale_squared) const {
        context_.worked(10 * squares_.size());
        double sum = 0;
        for (const double square : squares_) sum += student_t_nll(std::sqrt(square / scale_squared), df);
        return sum / static_cast<double>(squares_.size()) + logarithm(scale_squared) / 2;
    }

  private:
    // Returns the median, which one far number does not move, or where most numbers are 0, the mean.
    double usual_square() const {
        std::vector<double> squares(squares_.begin(), squares_.end());
        const auto middle = squares.begin() + static_cast<std::ptrdiff_t>(squares.size() / 2);
        std::nth_element(squares.begin(), middle, squares.end());
        if (*middle > 0) return *middle;
        return std::accumulate(squares.begin(), squares.end(), 0.0) / static_cast<double>(squares.size());
    }
    double mean_influence(double df, double scale_squared) const {
        context_.worked(squares_.size());
        double sum = 0;
        for (const double square : squares_) sum += square / (df * scale_squared + square);
        return (df + 1) * sum / static_cast<double>(squares_.size());
    }

    const std::span<const double> squares_;
    RunContext& context_;
    double least_, greatest_; // scales, squared
};

// The degrees of freedom are found on a grid of logarithms, which gets finer about its best point.
StudentT search(const StudentLikelihood& likelihood) {
    static constexpr int points = 11, rounds = 4;
    const double greatest = logarithm(StudentT::max_df);
    double from = 0, to = greatest, best = 0, least = std::numeric_limits<double>::infinity();
    StudentT found;
    for (int round = 0; round < rounds; round++) {
        const double step = (to - from) / (points - 1);
        for (int i = 0; i < points; i++) {
            const double at = i + 1 < points ? from + i * step : to;
            const double df = at < greatest ? std::min(exponential(at), StudentT::max_df) : StudentT::max_df;
            const double square = likelihood.scale_squared(df);
            const double nll = likelihood.nll(df, square);
            if (!(nll < least)) continue;
            least = nll;
            best = at;
            found = {std::sqrt(square), df};
        }
        from = std::max(0.0, best - step);
        to = std::min(greatest, best + step);
    }
    return found;
}

} // namespace

double StudentT::nll(double z) const {
    return student_t_nll(z / scale, df) + std::log(scale);
}

StudentT likeliest_student_t(std::span<const double> sorted, RunContext& context) {
    const double largest = std::max(std::fabs(sorted.front()), std::fabs(sorted.back()));
    if (largest == 0) return {0, StudentT::max_df};
    const Buffer<double> squares = scaled_squares(sorted, largest, context);
    StudentT found = search(StudentLikelihood(squares.span(), context));
    found.scale *= largest;
    return found;
}

} // namespace btml::uncertainty
