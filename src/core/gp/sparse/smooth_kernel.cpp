#include "core/gp/sparse/smooth_kernel.hpp"

#include <algorithm>
#include <cmath>

namespace btml::gp {

void SmoothKernel::scale(const double* point, double* to) const {
    const size_t numbers = inverse_lengths.size();
    for (size_t c = 0; c < numbers; c++) to[c] = point[c] * inverse_lengths[c];
    std::copy_n(point + numbers, penalties.size(), to + numbers);
}

double SmoothKernel::share_apart(size_t coordinate) const {
    const size_t numbers = inverse_lengths.size();
    if (coordinate >= numbers) return std::exp(-penalties[coordinate - numbers]);
    return with_smooth_shape(kind, [&]<class Shape>(std::type_identity<Shape>) {
        return Shape::at_square(inverse_lengths[coordinate] * inverse_lengths[coordinate]);
    });
}

std::vector<double> parameters_of(const SmoothKernel& kernel) {
    std::vector<double> parameters(kernel.inverse_lengths);
    parameters.insert(parameters.end(), kernel.penalties.begin(), kernel.penalties.end());
    parameters.push_back(kernel.signal);
    parameters.push_back(kernel.noise);
    for (double& parameter : parameters) parameter = std::log(parameter);
    return parameters;
}

void set_parameters(SmoothKernel& kernel, std::span<const double> parameters) {
    size_t next = 0;
    for (double& inverse : kernel.inverse_lengths) inverse = std::exp(parameters[next++]);
    for (double& penalty : kernel.penalties) penalty = std::exp(parameters[next++]);
    kernel.signal = std::exp(parameters[next++]);
    kernel.noise = std::exp(parameters[next]);
}

static void put_all(const std::vector<double>& numbers, Writer& writer) {
    writer.put_count(numbers.size());
    for (const double number : numbers) writer.put_positive(number);
}

// Takes limits that are beyond what is learned, and what options may give.
static double get_parameter(Reader& reader, double least = 1e-19, double most = 1e9) {
    const double number = reader.get_finite();
    if (!(number > least && number < most)) corrupt_model("A parameter of its kernel is out of range.");
    return number;
}

static std::vector<double> get_all(Reader& reader) {
    const size_t count = reader.get_count(sizeof(double));
    reader.hold(count * sizeof(double));
    std::vector<double> numbers(count);
    for (double& number : numbers) number = get_parameter(reader);
    return numbers;
}

void encode(const SmoothKernel& kernel, Writer& writer) {
    writer.put(static_cast<uint8_t>(kernel.kind));
    put_all(kernel.inverse_lengths, writer);
    put_all(kernel.penalties, writer);
    writer.put_positive(kernel.signal);
    writer.put_positive(kernel.noise);
}

SmoothKernel decode_smooth_kernel(Reader& reader) {
    SmoothKernel kernel;
    const auto number = reader.get<uint8_t>();
    kernel.kind = static_cast<KernelChoice>(number);
    if (number >= std::size(kernel_choice_names) || !is_smooth(kernel.kind))
        corrupt_model(format("Its kernel has number %d.", number));
    kernel.inverse_lengths = get_all(reader);
    kernel.penalties = get_all(reader);
    kernel.signal = get_parameter(reader);
    kernel.noise = get_parameter(reader, 1e-60, 1e60); // of weight 1, as no row need be
    return kernel;
}

} // namespace btml::gp
