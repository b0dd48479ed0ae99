#include "core/gp/tree/tree_kernel.hpp"

#include <cmath>

namespace btml::gp {

// Far enough from the ends of the double range that products of a few variances stay within it.
static constexpr double min_noise = 1e-50, max_variance = 1e50;

double Kernel::signal() const {
    return covariances().back();
}

std::vector<double> Kernel::covariances() const {
    std::vector<double> sums{0};
    sums.reserve(weights.size() + 1);
    for (const double weight : weights) sums.push_back(sums.back() + weight);
    return sums;
}

void Kernel::validate() const {
    if (levels() > max_levels)
        throw Error(ErrorCode::limit_exceeded,
                    format("a bit order has at most %zu levels, this one has %zu", max_levels, levels()));
    if (!(noise >= min_noise && noise <= max_variance))
        throw Error(ErrorCode::invalid_argument, format("invalid noise variance %g", noise), {},
                    format("It is a number from %g to %g.", min_noise, max_variance));
    for (const double weight : weights)
        if (!(weight >= 0 && weight <= max_variance))
            throw Error(ErrorCode::invalid_argument, format("invalid kernel weight %g", weight), {},
                        format("A weight is a number from 0 to %g.", max_variance));
    if (signal() > max_variance)
        throw Error(ErrorCode::invalid_argument, format("invalid signal variance %g", signal()), {},
                    format("The kernel's weights add up to at most %g.", max_variance));
}

void encode(const Kernel& kernel, Writer& writer) {
    writer.put_count(kernel.levels());
    for (const double weight : kernel.weights) writer.put_finite(weight);
    writer.put_positive(kernel.noise);
}

Kernel decode_kernel(Reader& reader) {
    Kernel kernel;
    const size_t levels = reader.get_count(sizeof(double));
    for (size_t level = 0; level < levels; level++) kernel.weights.push_back(reader.get_double());
    kernel.noise = reader.get_double();
    try {
        kernel.validate();
    } catch (const Error& error) {
        corrupt_model(format("It has an %s.", error.what()));
    }
    return kernel;
}

} // namespace btml::gp
