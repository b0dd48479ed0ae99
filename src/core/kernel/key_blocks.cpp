#include "core/kernel/key_blocks.hpp"

#include <algorithm>
#include <cmath>

namespace btml::kernel {

namespace {

// A coordinate in float32 is off by up to 2^−25 of it: farther out than this, that would show in the kernel.
constexpr double max_extent[] = {16, 4096};
// Products lose about √d·‖k‖²·2^−26 of the exponent.
constexpr double max_square[] = {160, 1e5};

size_t vectors_of(size_t keys) {
    return (keys + 2 * keys_per_vector - 1) / (2 * keys_per_vector) * 2;
}

double extent_from(const double* centre, const Points& points, std::span<const uint32_t> keys) {
    double extent = 0;
    for (const uint32_t key : keys)
        for (size_t k = 0; k < points.dimensions(); k++)
            extent = std::max(extent, std::abs(points.row(key)[k] - centre[k]));
    return extent;
}

void mean_of(const Points& points, std::span<const uint32_t> keys, double* centre) {
    std::fill(centre, centre + points.dimensions(), 0.0);
    for (const uint32_t key : keys)
        for (size_t k = 0; k < points.dimensions(); k++) centre[k] += points.row(key)[k] / keys.size();
}

// Takes the median by coordinate, so that a few keys far off do not move it.
void median_of(const Points& points, std::span<const uint32_t> keys, double* centre) {
    std::vector<double> column(keys.size());
    for (size_t k = 0; k < points.dimensions(); k++) {
        for (size_t i = 0; i < keys.size(); i++) column[i] = points.row(keys[i])[k];
        const auto middle = column.begin() + (column.size() / 2);
        std::nth_element(column.begin(), middle, column.end());
        centre[k] = *middle;
    }
}

} // namespace

KeyBlocks::KeyBlocks(const Frame& frame, const Points& points, size_t blocks, const KeysOfBlock& keys_of,
                     Precision precision, ThreadTeam& team, MemoryBudget& budget)
    : frame_(frame),
      dimensions_(points.dimensions()),
      infos_(budget, "packed keys", blocks),
      centres_(budget, "packed keys", blocks * dimensions_),
      high_(budget, "packed keys"),
      low_(budget, "packed keys"),
      norms_(budget, "packed keys") {
    team.for_each(blocks, [&](size_t block, int) { measure(block, points, keys_of(block), precision); });
    for (const Info& info : infos_) width_ = std::max(width_, vectors_of(info.keys) * keys_per_vector);
    const size_t block_numbers = width_ * dimensions_;
    size_t low = 0;
    bool products = false;
    for (Info& info : infos_) {
        info.low = low;
        if (info.form == Form::wide) low += block_numbers;
        products |= info.form == Form::products;
    }
    high_.resize(blocks * block_numbers);
    low_.resize(low);
    if (products) norms_.resize(blocks * width_);
    team.for_each(blocks, [&](size_t block, int) { pack(block, points, keys_of(block)); });
}

void KeyBlocks::measure(size_t block, const Points& points, std::span<const uint32_t> keys, Precision precision) {
    Info& info = infos_[block];
    double* const centre = centres_.data() + block * dimensions_;
    info.keys = keys.size();
    mean_of(points, keys, centre);
    double extent = extent_from(centre, points, keys);
    if (extent > max_extent[0]) {
        median_of(points, keys, centre);
        extent = extent_from(centre, points, keys);
    }
    double greatest = 0, sum = 0;
    for (const uint32_t key : keys) {
        const double of_key = frame_.sum(points.row(key), centre);
        greatest = std::max(greatest, of_key);
        sum += of_key;
    }
    info.radius = frame_.kernel.distance(greatest);
    info.spread = sum / keys.size();
    info.form = form_for(frame_, greatest, extent, precision);
}

Form KeyBlocks::form_for(const Frame& frame, double greatest, double extent, Precision precision) {
    const size_t p = static_cast<size_t>(precision);
    if (extent > max_extent[p]) return Form::wide;
    const bool near = greatest * std::sqrt(static_cast<double>(frame.centre.size())) <= max_square[p];
    return frame.kernel.takes_products && near ? Form::products : Form::differences;
}

void KeyBlocks::pack(size_t block, const Points& points, std::span<const uint32_t> keys) {
    const Info& info = infos_[block];
    const double* const centre = this->centre(block);
    float* const high = high_.data() + block * width_ * dimensions_;
    float* const low = info.form == Form::wide ? low_.data() + info.low : nullptr;
    float* const norms = info.form == Form::products ? norms_.data() + block * width_ : nullptr;
    for (size_t i = 0; i < vectors_of(keys.size()) * keys_per_vector; i++) {
        const double* const key = i < keys.size() ? points.row(keys[i]) : centre;
        float norm = 0;
        for (size_t k = 0; k < dimensions_; k++) {
            const size_t at = (i / keys_per_vector * dimensions_ + k) * keys_per_vector + i % keys_per_vector;
            const double x = key[k] - centre[k];
            high[at] = static_cast<float>(x);
            if (low) low[at] = static_cast<float>(x - high[at]);
            if (norms) norm = std::fma(high[at], high[at], norm); // the steps of tiles::centre
        }
        if (norms) norms[i] = norm;
    }
}

BlockKeys KeyBlocks::packed(size_t block) const noexcept {
    const Info& info = infos_[block];
    return {high_.data() + block * width_ * dimensions_, low_.data() + info.low, norms_.data() + block * width_,
            vectors_of(info.keys)};
}

uint64_t KeyBlocks::bytes(size_t keys, size_t dimensions) {
    const uint64_t blocks = (keys + block_keys - 1) / block_keys;
    return blocks * (block_keys * sizeof(float) * (2 * dimensions + 1) + dimensions * sizeof(double) + sizeof(Info));
}

BlockValues::BlockValues(size_t blocks, size_t columns, const KeyBlocks::KeysOfBlock& keys_of,
                         const std::function<double(uint32_t key, size_t column)>& value,
                         const std::vector<double>& scales, ThreadTeam& team, MemoryBudget& budget)
    : scales_(scales), values_(budget, "packed values of the keys", blocks * columns * block_keys) {
    team.for_each(blocks, [&](size_t block, int) {
        const std::span<const uint32_t> keys = keys_of(block);
        for (size_t column = 0; column < columns; column++) {
            float* const to = values_.data() + (block * columns + column) * block_keys;
            std::fill(to, to + block_keys, 0.0F);
            for (size_t i = 0; i < keys.size(); i++)
                to[i] = static_cast<float>(value(keys[i], column) / scales_[column]);
        }
    });
}

} // namespace btml::kernel
