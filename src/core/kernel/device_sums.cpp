#include "core/kernel/device_sums.hpp"

#include <algorithm>

namespace btml::kernel {

static cuda::Device open(const std::string& path, const KeySet& keys, RunContext& context) {
    const size_t columns = keys.columns();
    Buffer<double> values(context.memory(), "values of keys", keys.rows() * columns);
    for (size_t i = 0; i < keys.rows(); i++)
        for (size_t c = 0; c < columns; c++)
            values[i * columns + c] = keys.value(static_cast<uint32_t>(i), c) / keys.values.scale(c);
    return {path,
            {keys.distinct.frame.kernel.name, keys.rows(), keys.distinct.points.dimensions(), columns,
             keys.distinct.points.row(0), values.data()}};
}

DeviceSums::DeviceSums(const std::string& path, const KeySet& keys, RunContext& context)
    : keys_(keys), context_(context), device_(open(path, keys, context)) {}

Buffer<double> DeviceSums::sums(const Points& queries) const {
    constexpr double work_at_once = 2e11; // coordinates of pairs: well under 100 ms on any device
    const size_t dimensions = queries.dimensions(), columns = keys_.columns(), rows = queries.rows();
    const double of_query = static_cast<double>(keys_.rows()) * static_cast<double>(dimensions + columns);
    const auto at_once = static_cast<size_t>(std::clamp(work_at_once / of_query, 128.0, 65536.0));
    Buffer<double> sums(context_.memory(), "sums of queries", rows * columns);
    Buffer<double> framed(context_.memory(), "queries", std::min(at_once, rows) * dimensions);
    for (size_t begin = 0; begin < rows; begin += at_once) {
        context_.poll();
        context_.progress("sums of a kernel", begin, rows);
        const size_t count = std::min(at_once, rows - begin);
        for (size_t i = 0; i < count; i++)
            keys_.distinct.frame.apply(queries.row(begin + i), framed.data() + i * dimensions);
        device_.sums(count, framed.data(), sums.data() + begin * columns);
        for (size_t i = begin * columns; i < (begin + count) * columns; i++) sums[i] *= keys_.values.scale(i % columns);
    }
    return sums;
}

} // namespace btml::kernel
