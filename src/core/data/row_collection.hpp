// Training rows collected one by one: the state of an aggregate.
#pragma once

#include "core/data/dataset.hpp"

#include <span>
#include <string_view>

namespace btml {

class RowCollection {
  public:
    // What every row has beside its features.
    struct Shape {
        TargetKind target = TargetKind::number;
        bool weighted = false;

        bool operator==(const Shape&) const = default;
    };

    explicit RowCollection(MemoryBudget& budget)
        : options_(budget, "options of an aggregate"),
          label_ends_(budget, "labels of an aggregate"),
          label_bytes_(budget, "labels of an aggregate"),
          values_(budget, "rows of an aggregate") {}

    uint64_t rows() const { return features_ == none ? 0 : values_.size() / width(); }
    uint64_t rows_skipped() const { return skipped_; }
    TargetKind target() const { return shape_.target; }
    uint64_t label_bytes() const { return label_bytes_.size(); } // of all labels
    std::string options() const { return std::string(options_.begin(), options_.end()); }

    // The options that came with a row, as text. Error invalid_argument when an earlier row had others.
    void set_options(std::string_view options);
    // Adds a row; target: 0 or 1 of a boolean. Errors: out_of_range for a target that is NaN or infinite; those of
    // check_weight; invalid_argument for a number of features other than that of earlier rows, or none at all.
    void add(const Shape& shape, double target, std::span<const double> features, double weight = 1);
    // The same of a target that is a label. Error limit_exceeded for more than max_labels.
    void add(std::string_view label, std::span<const double> features, std::optional<double> weight);
    void skip() { skipped_++; } // a row without a target
    void append(const RowCollection& other, RunContext& context);

    // Portable bytes, for moving a state between processes.
    uint64_t flat_size() const noexcept;
    void flatten(std::byte* to) const noexcept; // flat_size() bytes
    // Error corrupt_model for bytes that are not those of flatten().
    static RowCollection parse(std::span<const std::byte> bytes, MemoryBudget& budget, RunContext& context);

    // A table of features x1 … xd. Of labels, those that rows have in bytewise order, and their codes as targets; their
    // bytes are not counted.
    Dataset dataset(RunContext& context) const;

  private:
    static constexpr uint32_t none = UINT32_MAX;
    static constexpr uint32_t max_features = 65535;

    size_t width() const { return size_t{features_} + 1 + shape_.weighted; } // numbers of a row
    size_t labels() const { return label_ends_.size(); }
    std::string_view label(size_t code) const;
    size_t code_of(std::string_view label);
    void set_shape(const Shape& shape, size_t features);
    void parse_labels(class Reader& reader);
    void parse_rows(class Reader& reader, uint64_t rows, RunContext& context);

    uint32_t features_ = none;
    Shape shape_;
    bool has_options_ = false;
    Buffer<char> options_;
    uint64_t skipped_ = 0;
    Buffer<size_t> label_ends_; // in label_bytes_, by code: in the order of first appearance
    Buffer<char> label_bytes_;
    Buffer<double> values_; // row by row: target, weight where there are any, the features
};

} // namespace btml
