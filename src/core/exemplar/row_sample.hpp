// A sample of rows that does not depend on their order or on how they were split is the state of btml.exemplars_agg.
#pragma once

#include "core/exemplar/stream_greedy.hpp"

namespace btml::exemplar {

// Keeps the rows with the smallest hashes (bottom-k sketch; Cohen, Kaplan: Summarizing data using bottom-k sketches,
// 2007), which are a uniform sample of the distinct rows, each with the number of its copies. Zeros lose their sign, so
// that equal rows are the same bytes. The state of a small group is small.
class RowSample {
  public:
    static constexpr int max_exemplars = 10000;

    explicit RowSample(MemoryBudget& budget) : log_(budget, "rows of an aggregate") {}

    // Takes id and coordinates. Throws invalid_argument for another k, or another number of coordinates, than of
    // earlier rows, for a k that is not from 1 to max_exemplars and for no coordinates; out_of_range for a coordinate
    // that is not finite.
    void add(const Point& row, int k, bool ids_are_numbers, RunContext& context);
    void append(const RowSample& other, RunContext& context);

    uint64_t rows() const { return rows_; }
    bool ids_are_numbers() const { return ids_are_numbers_; }
    // Chooses the exemplars of the sample; members add up to rows().
    Selection select(RunContext& context) const;

    uint64_t flat_size() const noexcept;
    void flatten(std::byte* to) const noexcept; // writes flat_size() bytes
    // Throws corrupt_model for bytes that flatten() does not write.
    static RowSample parse(std::span<const std::byte> bytes, MemoryBudget& budget, RunContext& context);

  private:
    // Shows a row as it stands in the log: hash 8, copies 8, has id 1, length of the id 4, the id, the coordinates.
    struct Entry {
        uint64_t hash, copies;
        bool has_id;
        std::string_view id;
        std::span<const std::byte> coordinates, bytes; // `bytes` is the whole entry
    };
    // Says where the log has a row of the sample first, and how many copies it has in all.
    struct Place {
        uint64_t hash, copies, offset;
    };

    size_t capacity() const;
    void set_shape(int k, size_t width, bool ids_are_numbers);
    bool takes(uint64_t hash, RunContext& context);
    std::byte* add_entry(size_t bytes);
    void keep(uint64_t hash, uint64_t copies, const Point& row);
    void keep(const Entry& entry, uint64_t copies);
    Entry entry_at(size_t offset) const;
    static Point row_of(const Entry& entry, uint64_t copies, std::vector<double>& x);
    Buffer<Place> places(MemoryBudget& budget, RunContext& context) const;
    Buffer<Place> sample(MemoryBudget& budget, RunContext& context) const;
    void prune(RunContext& context);

    int k_ = 0; // is 0 until there is a row
    bool ids_are_numbers_ = false;
    uint32_t width_ = 0;
    uint64_t rows_ = 0;
    // The log holds the rows as they came, without those of too large a hash, up to twice as many as the sample has.
    Buffer<std::byte> log_;
    size_t entries_ = 0;             // counts those of the log
    uint64_t max_hash_ = UINT64_MAX; // is the largest that the sample can still take
};

} // namespace btml::exemplar
