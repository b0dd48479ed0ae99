#include "core/kernel/device_sums.hpp"

#include "core/kernel/query_group.hpp"

#include <algorithm>
#include <cmath>

namespace btml::kernel {

static_assert(static_cast<int>(Form::products) == btml_cuda_products &&
              static_cast<int>(Form::differences) == btml_cuda_differences &&
              static_cast<int>(Form::wide) == btml_cuda_wide);

namespace {

// Leaves of the keys' tree that share a centre, so that queries are brought into its coordinates once for all.
struct LeafGroup {
    size_t first, last;
    Form form;
    std::vector<double> centre;
};

class Grouping {
  public:
    Grouping(const KeySet& keys, RunContext& context) : keys_(keys), context_(context) { add(0, keys.blocks.blocks()); }
    const std::vector<LeafGroup>& groups() const { return groups_; }

  private:
    // Leaves are apart where too many of them would lose the form that they can have by themselves, or all the digits.
    void add(size_t first, size_t last) {
        constexpr double max_extent = 1e8; // which leaves pairs of float32 a millionth of a bandwidth
        const KeyBlocks& blocks = keys_.blocks;
        LeafGroup group{first, last, {}, std::vector<double>(blocks.dimensions())};
        for (size_t leaf = first; leaf < last; leaf++)
            for (size_t k = 0; k < blocks.dimensions(); k++)
                group.centre[k] += blocks.centre(leaf)[k] / static_cast<double>(last - first);
        double greatest = 0, extent = 0;
        for (size_t leaf = first; leaf < last; leaf++) measure(leaf, group.centre, greatest, extent);
        group.form = KeyBlocks::form_for(keys_.distinct.frame, greatest, extent, Precision::full);
        size_t losing = 0;
        for (size_t leaf = first; leaf < last; leaf++) losing += blocks.form(leaf) < group.form;
        if (last - first == 1 || (extent <= max_extent && 4 * losing <= last - first)) {
            groups_.push_back(std::move(group));
            return;
        }
        const size_t middle = first + (last - first) / 2;
        add(first, middle);
        add(middle, last);
    }

    void measure(size_t leaf, const std::vector<double>& centre, double& greatest, double& extent) {
        const Frame& frame = keys_.distinct.frame;
        for (const uint32_t key : keys_.tree.keys(leaf)) {
            const double* const point = keys_.distinct.points.row(key);
            greatest = std::max(greatest, frame.sum(point, centre.data()));
            for (size_t k = 0; k < centre.size(); k++) extent = std::max(extent, std::abs(point[k] - centre[k]));
        }
        context_.worked(block_keys * centre.size() / 4);
    }

    const KeySet& keys_;
    RunContext& context_;
    std::vector<LeafGroup> groups_;
};

} // namespace

DeviceSums::DeviceSums(const device::Library& library, const KeySet& keys, RunContext& context)
    : library_(library), keys_(keys), context_(context) {
    const size_t columns = keys.columns();
    Buffer<double> values(context.memory(), "values of keys", keys.rows() * columns);
    for (uint32_t i = 0; i < keys.rows(); i++)
        for (size_t c = 0; c < columns; c++) values[i * columns + c] = keys.value(i, c) / keys.values.scale(c);
    const Grouping grouping(keys, context);
    const std::span<const uint32_t> order = keys.tree.order();
    std::vector<btml_cuda_group> groups;
    for (const LeafGroup& group : grouping.groups()) {
        const size_t first = group.first * block_keys, last = std::min(group.last * block_keys, order.size());
        groups.push_back({first, last - first, static_cast<uint32_t>(group.form), group.centre.data()});
    }
    const btml_cuda_keys copied{keys.distinct.frame.kernel.name,
                                keys.rows(),
                                keys.distinct.points.dimensions(),
                                columns,
                                groups.size(),
                                keys.distinct.points.row(0),
                                values.data(),
                                order.data(),
                                groups.data()};
    const device::SignalsBlocked blocked;
    if (const char* const failure = library.open_sums(&copied, &handle_, &work_))
        throw Error(ErrorCode::not_supported, failure);
}

DeviceSums::~DeviceSums() {
    library_.close_sums(handle_);
}

Buffer<double> DeviceSums::sums(const Points& queries, ThreadTeam& team) const {
    constexpr size_t rows_of_item = 1024;
    const size_t dimensions = queries.dimensions(), columns = keys_.columns(), rows = queries.rows();
    const double of_query = static_cast<double>(keys_.rows()) * (dimensions + columns);
    const size_t at_once = std::min<size_t>(rows, std::clamp(work_ / of_query, 128.0, 65536.0));
    Buffer<double> sums(context_.memory(), "sums of queries", rows * columns);
    Buffer<double> framed(context_.memory(), "queries", at_once * dimensions);
    for (size_t begin = 0; begin < rows; begin += at_once) {
        context_.share_progress("sums of a kernel", begin, rows);
        const size_t end = std::min(rows, begin + at_once);
        const auto of_item = [&](size_t item) {
            return std::pair(begin + item * rows_of_item, std::min(end, begin + (item + 1) * rows_of_item));
        };
        const size_t items = (end - begin + rows_of_item - 1) / rows_of_item;
        team.for_each(items, [&](size_t item, int) {
            const auto [first, last] = of_item(item);
            for (size_t i = first; i < last; i++) {
                double* const to = framed.data() + (i - begin) * dimensions;
                keys_.distinct.frame.apply(queries.row(i), to);
                for (size_t k = 0; k < dimensions; k++)
                    to[k] = std::clamp(to[k], -QueryGroup::farthest, QueryGroup::farthest);
            }
        });
        device::check(library_.sum(handle_, end - begin, framed.data(), sums.data() + begin * columns));
        team.for_each(items, [&](size_t item, int) {
            const auto [first, last] = of_item(item);
            for (size_t i = first; i < last; i++)
                for (size_t c = 0; c < columns; c++) sums[i * columns + c] *= keys_.values.scale(c);
        });
    }
    return sums;
}

} // namespace btml::kernel
