#include "core/relational/tensor_sketch.hpp"

#include <climits>

namespace btml::relational {

namespace {

// Measured on one core of a server, in seconds; a forecast needs no more than their order of magnitude.
constexpr double seconds_per_row = 2e-8;     // for a row and a block of frequencies
constexpr double seconds_per_message = 8e-9; // the same for each neighbour of the row's table
constexpr double seconds_per_bucket = 1e-8;  // of a fast Fourier transform, which is mostly writing and reading it

// A transform cannot be interrupted: this one takes some 30 ms.
constexpr uint32_t longest_transform = 1 << 20;

std::vector<HashedRows> hash_tables(const Join& join, uint32_t size, uint64_t seed, RunContext& context) {
    std::vector<HashedRows> tables;
    for (int t = 0; t < static_cast<int>(join.tables().size()); t++) tables.emplace_back(join, t, size, seed, context);
    return tables;
}

Join join_of(const Join& join, const std::vector<HashedRows>& tables, RunContext& context) {
    std::vector<const RowGroups*> groups;
    for (const HashedRows& hashed : tables) groups.push_back(&hashed.groups());
    return join_of_groups(join, groups, context);
}

} // namespace

uint32_t TensorSketch::checked_size(uint64_t size) {
    if (size == 0) throw Error(ErrorCode::internal, "a sketch of no numbers");
    if (size > INT_MAX)
        throw Error(ErrorCode::limit_exceeded,
                    format("the sketch would have %llu numbers, the most is %d", static_cast<unsigned long long>(size),
                           INT_MAX),
                    {}, "Raise epsilon or delta, or give a sketch_size.");
    return static_cast<uint32_t>(size);
}

uint64_t TensorSketch::fast_size(uint64_t size) {
    return size > longest_transform ? size : smooth_size(size);
}

TensorSketch::TensorSketch(const Join& join, uint64_t size, uint64_t seed, RunContext& context)
    : size_(checked_size(size)),
      context_(context),
      team_(context),
      tables_(hash_tables(join, size_, seed, context)),
      grouped_(join_of(join, tables_, context)),
      frequencies_(size_),
      roots_(size_, context) {}

uint64_t TensorSketch::groups_of(uint64_t min_rows) const {
    uint64_t groups = 0;
    for (const HashedRows& hashed : tables_)
        for (uint64_t group = 0; group < hashed.groups().count(); group++)
            groups += hashed.groups().size(group) >= min_rows;
    return groups;
}

// A transform costs about as much as adding up ten rows at every frequency; half of the memory is for others.
uint64_t TensorSketch::min_rows(size_t terms) const {
    const uint64_t available = context_.memory().left() / 2;
    if (size_ > longest_transform || FourierTransform::bytes(size_) > available)
        return std::numeric_limits<uint64_t>::max();
    const double bytes = static_cast<double>(terms) * static_cast<double>(frequencies_.blocks() * sizeof(Block));
    uint64_t least = 16;
    while (static_cast<double>(groups_of(least)) * bytes > static_cast<double>(available)) least *= 2;
    return least;
}

TensorSketch::Transforms TensorSketch::choose_groups(size_t terms) {
    Transforms transforms;
    const uint64_t least = min_rows(terms);
    for (const HashedRows& hashed : tables_) transforms.groups.emplace_back(hashed, least, context_.memory());
    for (size_t q = 0; q < terms; q++) {
        transforms.spectra.emplace_back();
        for (const TransformedGroups& chosen : transforms.groups)
            transforms.spectra[q].emplace_back(context_.memory(), what, chosen.groups.size() * frequencies_.blocks());
    }
    return transforms;
}

std::vector<FourierTransform> TensorSketch::one_for_each_thread() {
    std::vector<FourierTransform> transforms;
    do {
        transforms.emplace_back(size_, context_.memory());
        context_.poll();
    } while (static_cast<int>(transforms.size()) < team_.size() &&
             2 * FourierTransform::bytes(size_) < context_.memory().left());
    return transforms;
}

uint64_t TensorSketch::query_bytes() const {
    uint64_t values = 1 << 16;
    for (int t = 0; t < static_cast<int>(tables_.size()); t++) values += grouped_.separator(t).keys;
    return values * sizeof(Block);
}

double TensorSketch::estimated_seconds(size_t terms) const {
    const uint64_t least = min_rows(terms);
    double for_rows = 0;
    for (size_t t = 0; t < tables_.size(); t++) {
        const RowGroups& groups = tables_[t].groups();
        for_rows += seconds_per_message * static_cast<double>(grouped_.tree().neighbours(t).size()) *
                    static_cast<double>(groups.count());
        for (uint64_t group = 0; group < groups.count(); group++)
            if (groups.size(group) < least) for_rows += seconds_per_row * static_cast<double>(groups.size(group));
    }
    const double transforms = seconds_per_bucket * size_ * static_cast<double>(groups_of(least));
    return static_cast<double>(terms) * (for_rows * static_cast<double>(frequencies_.blocks()) + transforms) /
           team_.size();
}

} // namespace btml::relational
