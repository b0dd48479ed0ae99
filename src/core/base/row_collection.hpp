// Training rows collected one by one: the state of an aggregate.
#pragma once

#include "core/base/dataset.hpp"

#include <span>

namespace btml {

class RowCollection {
  public:
    explicit RowCollection(MemoryBudget& budget)
        : options_(budget, "options of an aggregate"), values_(budget, "rows of an aggregate") {}

    uint64_t rows() const { return features_ == none ? 0 : values_.size() / (features_ + 1); }
    uint64_t rows_skipped() const { return skipped_; }
    std::string options() const { return std::string(options_.begin(), options_.end()); }

    // The options that came with a row, as text. Error invalid_argument when an earlier row had others.
    void set_options(std::string_view options);
    // Errors: out_of_range for a target that is NaN or infinite; invalid_argument for a number of features other than
    // that of earlier rows, or none at all.
    void add(double target, std::span<const double> features);
    void skip() { skipped_++; } // a row without a target
    void append(const RowCollection& other, RunContext& context);

    // Portable bytes, for moving a state between processes.
    uint64_t flat_size() const noexcept;
    void flatten(std::byte* to) const noexcept; // flat_size() bytes
    // Error corrupt_model for bytes that are not those of flatten().
    static RowCollection parse(std::span<const std::byte> bytes, MemoryBudget& budget, RunContext& context);

    // A table of features x1 … xd.
    Dataset dataset(RunContext& context) const;

  private:
    static constexpr uint32_t none = UINT32_MAX;
    static constexpr uint32_t max_features = 65535;

    void set_features(size_t count);

    uint32_t features_ = none;
    bool has_options_ = false;
    Buffer<char> options_;
    uint64_t skipped_ = 0;
    Buffer<double> values_; // row by row: target, then the features
};

} // namespace btml
