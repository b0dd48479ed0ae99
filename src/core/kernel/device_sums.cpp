#include "core/kernel/device_sums.hpp"

#include "core/base/signals_blocked.hpp"
#include "core/kernel/query_group.hpp"

#include <algorithm>
#include <cmath>

namespace btml::kernel {

static_assert(static_cast<int>(Form::products) == btml_cuda_products &&
              static_cast<int>(Form::differences) == btml_cuda_differences &&
              static_cast<int>(Form::wide) == btml_cuda_wide);

namespace {

// Finds groups of leaves of the keys' tree that share a centre, so that queries are brought into its coordinates once
// for all. Leaves are apart where too many of them would lose the form that they can have by themselves, or all the
// digits.
class LeafGroups {
  public:
    LeafGroups(const KeySet& keys, RunContext& context)
        : keys_(keys), context_(context), centres_(context.memory(), "centres of keys") {
        add(0, keys.blocks.blocks());
    }
    const std::vector<btml_cuda_group>& groups() const { return groups_; }
    const Buffer<double>& centres() const { return centres_; }

  private:
    void add(size_t first, size_t last) {
        constexpr double max_extent = 1e8; // which leaves pairs of float32 a millionth of a bandwidth
        const KeyBlocks& blocks = keys_.blocks;
        const std::vector<double> centre = mean_centre(first, last);
        double greatest = 0, extent = 0;
        for (size_t leaf = first; leaf < last; leaf++) measure(leaf, centre, greatest, extent);
        const Form form = KeyBlocks::form_for(keys_.distinct.frame, greatest, extent, Precision::full);
        size_t losing = 0;
        for (size_t leaf = first; leaf < last; leaf++) losing += blocks.form(leaf) < form;
        if (last - first > 1 && (extent > max_extent || 4 * losing > last - first)) {
            const size_t middle = first + (last - first) / 2;
            add(first, middle);
            add(middle, last);
            return;
        }
        const uint64_t begin = first * block_keys, end = std::min<uint64_t>(last * block_keys, keys_.rows());
        groups_.push_back({begin, end - begin, static_cast<uint32_t>(form)});
        for (const double coordinate : centre) centres_.push_back(coordinate);
    }

    std::vector<double> mean_centre(size_t first, size_t last) const {
        std::vector<double> centre(keys_.blocks.dimensions());
        for (size_t leaf = first; leaf < last; leaf++)
            for (size_t k = 0; k < centre.size(); k++)
                centre[k] += keys_.blocks.centre(leaf)[k] / static_cast<double>(last - first);
        return centre;
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
    std::vector<btml_cuda_group> groups_;
    Buffer<double> centres_;
};

} // namespace

DeviceSums::DeviceSums(const device::Library& library, const KeySet& keys, RunContext& context)
    : library_(library), keys_(keys), context_(context) {
    const LeafGroups grouped(keys, context);
    const btml_cuda_keys copied{keys.distinct.frame.kernel.name,   keys.rows(),
                                keys.distinct.points.dimensions(), keys.columns(),
                                grouped.groups().size(),           keys.distinct.points.row(0),
                                keys.tree.order().data(),          keys.values.of(0, 0),
                                grouped.groups().data(),           grouped.centres().data()};
    const SignalsBlocked blocked; // CUDA starts threads of its own
    device::check(library.open_sums(&copied, &handle_, &max_queries_));
}

DeviceSums::~DeviceSums() {
    library_.close_sums(handle_);
}

size_t DeviceSums::queries_at_once(size_t queries, size_t dimensions) {
    constexpr size_t max_queries = 65'536, max_numbers = size_t{1} << 22;
    return std::min({queries, max_queries, std::max<size_t>(128, max_numbers / dimensions)});
}

Buffer<double> DeviceSums::sums(const Points& queries, ThreadTeam& team) const {
    const size_t dimensions = queries.dimensions(), columns = keys_.columns(), rows = queries.rows();
    const size_t at_once = std::min<size_t>(max_queries_, queries_at_once(rows, dimensions));
    Buffer<double> sums(context_.memory(), "sums of queries", rows * columns);
    Buffer<double> framed(context_.memory(), "queries", at_once * dimensions);
    for (size_t begin = 0; begin < rows; begin += at_once) {
        context_.poll();
        context_.share_progress("sums of a kernel", begin, rows);
        const size_t count = std::min(rows - begin, at_once);
        for_each_row(count, team, [&](size_t i, int) {
            double* const to = framed.data() + i * dimensions;
            keys_.distinct.frame.apply(queries.row(begin + i), to);
            for (size_t k = 0; k < dimensions; k++)
                to[k] = std::clamp(to[k], -QueryGroup::farthest, QueryGroup::farthest);
        });
        device::check(library_.sum(handle_, count, framed.data(), sums.data() + begin * columns));
        for_each_row(count, team, [&](size_t i, int) {
            for (size_t c = 0; c < columns; c++) sums[(begin + i) * columns + c] *= keys_.values.scale(c);
        });
    }
    return sums;
}

} // namespace btml::kernel
