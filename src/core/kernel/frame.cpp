#include "core/kernel/frame.hpp"

#include "core/numbers/sample_mean.hpp"
#include "core/numbers/usual_range.hpp"

#include <algorithm>
#include <cmath>

namespace btml::kernel {

namespace {

constexpr uint64_t units_of_visit = 4; // of work: a row of the keys in an order that is not memory's
constexpr double widest = 1e12;        // bandwidths; beyond, pairs of float32 would be too coarse

struct Moments {
    SampleMean usual;                                                          // of the keys in their usual range
    double least = std::numeric_limits<double>::infinity(), greatest = -least; // of all keys
};

Moments moments_of(const Points& keys, const Buffer<uint32_t>& order, size_t k, RunContext& context) {
    const auto for_each_number = [&](const auto& body) {
        context.for_each(order.size(), units_of_visit, [&](size_t i) { body(keys.row(order[i])[k]); });
    };
    Moments moments{usual_mean(for_each_number)};
    for_each_number([&](double x) {
        moments.least = std::min(moments.least, x);
        moments.greatest = std::max(moments.greatest, x);
    });
    return moments;
}

} // namespace

Coordinates::Coordinates(const Points& keys, const Buffer<uint32_t>& order, double bandwidth, Scale scale, double unit,
                         RunContext& context)
    : centre(keys.dimensions()), factor(keys.dimensions()), log_volume(keys.dimensions() * std::log(bandwidth)) {
    for (size_t k = 0; k < keys.dimensions(); k++) {
        const Moments moments = moments_of(keys, order, k, context);
        double width = bandwidth;
        if (scale == Scale::sd && moments.usual.squares() > 0) {
            const double sd = std::sqrt(moments.usual.squares() / (moments.usual.count() - 1));
            width *= sd;
            log_volume += std::log(sd);
        }
        centre[k] = moments.usual.mean();
        factor[k] = unit / width;
        const double spread = (moments.greatest - moments.least) / width;
        if (!std::isfinite(moments.usual.mean()) || !std::isfinite(moments.usual.squares()) ||
            !std::isfinite(factor[k]) || !(spread <= widest))
            throw Error(
                ErrorCode::out_of_range,
                format("coordinate %zu of the keys spreads over more than 1e12 bandwidths", k + 1),
                format("It runs from %s to %s.", shortest(moments.least).c_str(), shortest(moments.greatest).c_str()),
                "Choose a larger bandwidth, or leave out keys that are far off.");
    }
}

} // namespace btml::kernel
