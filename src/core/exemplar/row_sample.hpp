// A sample of rows that does not depend on their order or on how they were split: the state of btml.exemplars_agg.
#pragma once

#include "core/exemplar/stream_greedy.hpp"

#include <unordered_map>

namespace btml::exemplar {

struct SampledRow {
    std::string_view id;
    bool has_id;
    std::span<const double> x;
};

// Keeps the rows whose hashes are least (bottom-k sketch; Cohen, Kaplan: Summarizing data using bottom-k sketches,
// 2007): a uniform sample of the distinct rows, each with the number of its copies.
class RowSample {
  public:
    static constexpr const char* type_name = "btml.exemplar_sample";
    static constexpr const char* what = "the rows";
    static constexpr const char* too_large_hint = "Ask for fewer exemplars, or use btml.exemplars.";
    static constexpr int most_exemplars = 10000;

    explicit RowSample(MemoryBudget& budget) : points_(PointSet::Keep::all, budget) {}

    // Errors invalid_argument: another k, or another number of coordinates, than of earlier rows; a k that is not from
    // 1 to most_exemplars; no coordinates. out_of_range for a coordinate that is not finite.
    void add(const SampledRow& row, int k, bool ids_are_numbers);
    void append(const RowSample& other);

    uint64_t rows() const { return rows_; }
    bool ids_are_numbers() const { return ids_are_numbers_; }
    // The exemplars of the sample; members add up to rows().
    Selection select(RunContext& context) const;

    uint64_t flat_size() const noexcept;
    void flatten(std::byte* to) const noexcept; // flat_size() bytes
    // Error corrupt_model for bytes that are not those of flatten().
    static RowSample parse(std::span<const std::byte> bytes, MemoryBudget& budget);

  private:
    size_t capacity() const;
    void set_shape(int k, size_t width, bool ids_are_numbers);
    void keep(uint64_t hash, const SampledRow& row, uint64_t copies);

    int k_ = 0; // 0: no row yet
    bool ids_are_numbers_ = false;
    uint64_t rows_ = 0;
    PointSet points_;                                        // number: the hash; weight: the copies
    std::unordered_map<uint64_t, size_t> places_;            // of hashes in points_
    std::vector<std::pair<uint64_t, size_t>> largest_first_; // a heap of them
};

} // namespace btml::exemplar
