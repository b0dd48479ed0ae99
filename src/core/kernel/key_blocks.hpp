// Keys packed for the tiles, in blocks relative to a centre of their own: differences of float32 then keep their
// accuracy however far the block is from the origin.
#pragma once

#include "core/base/threads.hpp"
#include "core/kernel/frame.hpp"
#include "core/pairwise/tiles.hpp"

#include <functional>

namespace btml::kernel {

// How exact the values of a tile are: relative to the kernel, about 1e-6, or 1e-3 where sampling errs more than that.
enum class Precision : uint8_t { full, sampling };

class KeyBlocks {
  public:
    using KeysOfBlock = std::function<std::span<const uint32_t>(size_t block)>;

    // Block b holds keys_of(b), from 1 to block_keys rows of the points; keys_of is called on any thread. The points
    // are not needed afterwards.
    KeyBlocks(const Frame& frame, const Points& points, size_t blocks, const KeysOfBlock& keys_of, Precision precision,
              ThreadTeam& team, MemoryBudget& budget);

    size_t blocks() const noexcept { return infos_.size(); }
    size_t dimensions() const noexcept { return dimensions_; }
    size_t keys(size_t block) const noexcept { return infos_[block].keys; }
    Form form(size_t block) const noexcept { return infos_[block].form; }
    const double* centre(size_t block) const noexcept { return centres_.data() + block * dimensions_; }
    // No key is farther from the centre than the radius; the spread is the mean of Frame::sum of the keys and it.
    double radius(size_t block) const noexcept { return infos_[block].radius; }
    double spread(size_t block) const noexcept { return infos_[block].spread; }
    BlockKeys packed(size_t block) const noexcept;

    // Returns the form for keys whose Frame::sum with a centre is `greatest` at most, and whose coordinates are
    // `extent` from it at most.
    static Form form_for(const Frame& frame, double greatest, double extent, Precision precision);
    // Returns how many they are at most, in full blocks.
    static uint64_t bytes(size_t keys, size_t dimensions);

  private:
    struct Info {
        size_t keys, low; // where the block's low parts start
        double radius, spread;
        Form form;
    };
    void measure(size_t block, const Points& points, std::span<const uint32_t> keys, Precision precision);
    void pack(size_t block, const Points& points, std::span<const uint32_t> keys);

    const Frame& frame_;
    size_t dimensions_, width_ = 0; // places of a block's keys
    Buffer<Info> infos_;
    Buffer<double> centres_;
    Buffer<float> high_, low_, norms_;
};

// Columns of values in blocks, each column divided by its largest magnitude.
class BlockValues {
  public:
    // value(key, column); columns of each block's keys one after another.
    BlockValues(size_t blocks, size_t columns, const KeyBlocks::KeysOfBlock& keys_of,
                const std::function<double(uint32_t key, size_t column)>& value, const std::vector<double>& scales,
                ThreadTeam& team, MemoryBudget& budget);

    size_t columns() const noexcept { return scales_.size(); }
    double scale(size_t column) const noexcept { return scales_[column]; }
    const float* of(size_t block, size_t column) const noexcept {
        return values_.data() + (block * columns() + column) * block_keys;
    }

  private:
    std::vector<double> scales_;
    Buffer<float> values_;
};

} // namespace btml::kernel
