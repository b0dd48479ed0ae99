#include "core/relational/queries/tensor_sketch.hpp"

#include "core/base/worker_contexts.hpp"

#include <climits>
#include <numeric>

namespace btml::relational {

namespace {

constexpr const char* what_sketch = "a tensor sketch";

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

// Writes the output of a transform in blocks, zeros after the last frequency.
void store(const FourierTransform& fourier, const Frequencies& frequencies, Spectrum::Value* spectrum) {
    const FourierTransform::Complex* const output = fourier.output();
    std::fill(spectrum, spectrum + frequencies.blocks(), Spectrum::zero());
    for (uint64_t w = 0; w < frequencies.count(); w++) {
        Spectrum::Value& block = spectrum[w / Spectrum::width];
        block.re[w % Spectrum::width] = output[w].real();
        block.im[w % Spectrum::width] = output[w].imag();
    }
}

// Transforms one group with the factors phi(row) into `spectrum`, one value for each block of frequencies.
template <class Phi>
void transform_group(const HashedRows& hashed, uint64_t group, const Frequencies& frequencies,
                     FourierTransform& fourier, const Phi& phi, Spectrum::Value* spectrum, RunContext& context) {
    double* const buckets = fourier.input();
    std::fill(buckets, buckets + fourier.size(), 0.0);
    const RowGroups& groups = hashed.groups();
    context.for_each(groups.size(group), 1, [&](uint64_t place) {
        const uint64_t i = groups.first[group] + place;
        const double factor = phi(groups.rows[i]);
        buckets[hashed.bucket(i)] += hashed.is_negative(i) ? -factor : factor;
    });
    fourier.run();
    store(fourier, frequencies, spectrum);
}

constexpr uint32_t not_transformed = UINT32_MAX;

} // namespace

// The groups of a table that have so many rows that one fast Fourier transform of them all costs less than adding the
// rows up frequency by frequency.
struct TensorSketch::TransformedGroups {
    Buffer<uint32_t> numbers;        // of every group, or not_transformed
    Buffer<uint32_t> groups;         // by number
    Buffer<Spectrum::Value> spectra; // all blocks of frequencies of the first group, then those of the second and so on

    TransformedGroups(const HashedRows& hashed, uint64_t min_rows, const Frequencies& frequencies, MemoryBudget& memory)
        : numbers(memory, "the row groups of a join", hashed.groups().count(), not_transformed),
          groups(memory, "the row groups of a join"),
          spectra(memory, what_sketch) {
        for (uint64_t group = 0; group < numbers.size(); group++) {
            if (hashed.groups().size(group) < min_rows) continue;
            numbers[group] = static_cast<uint32_t>(groups.size());
            groups.push_back(static_cast<uint32_t>(group));
        }
        spectra.resize(groups.size() * frequencies.blocks());
    }
};

// The factors of the query for one block of frequencies.
struct TensorSketch::BlockFactors {
    const TensorSketch& sketch;
    const Factors& factors;
    const std::vector<TransformedGroups>& transforms; // by table
    uint64_t block;

    template <class Body>
    void visit(int table, Body&& body) const {
        const HashedRows& hashed = sketch.tables_[table];
        const RootsOfUnity& roots = sketch.roots_;
        const uint32_t* const numbers = transforms[table].numbers.data();
        const Spectrum::Value* const spectra = transforms[table].spectra.data() + block;
        const uint64_t blocks = sketch.frequencies_.blocks();
        ColumnFactors<SumProduct>{factors}.visit(table, [&](auto&& phi) {
            body([&](RowId group) {
                if (numbers[group] != not_transformed) return spectra[numbers[group] * blocks];
                return hashed.transform(group, block, roots, phi);
            });
        });
    }
};

HashedRows::HashedRows(const Join& join, int table, uint32_t size, uint64_t seed, RunContext& context)
    : groups_(group_rows(join, table, context)),
      buckets_(context.memory(), "the hashed rows of a sketch", groups_.rows.size()) {
    const SketchHash hash(seed, table);
    const std::optional<Buffer<uint64_t>>& content = join.tables()[table].content;
    context.for_each(buckets_.size(), 1, [&](uint64_t i) {
        // A bag's row follows from those of the tables in it.
        const RowId row = groups_.rows[i];
        const uint64_t name = content ? (*content)[row] : row;
        buckets_[i] = table >= join.relations() ? 0 : hash.signed_bucket(name, size);
    });
}

uint32_t TensorSketch::checked_size(uint64_t size) {
    if (size == 0) throw Error(ErrorCode::internal, "a sketch of no numbers");
    if (size > INT_MAX)
        throw Error(ErrorCode::limit_exceeded,
                    format("the sketch would have %" PRIu64 " numbers, the most is %d", size, INT_MAX), {},
                    "Raise epsilon or delta, or give a sketch_size.");
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
uint64_t TensorSketch::min_rows() const {
    const uint64_t available = context_.memory().left() / 2;
    if (size_ > longest_transform || FourierTransform::bytes(size_) > available)
        return std::numeric_limits<uint64_t>::max();
    const auto bytes = static_cast<double>(frequencies_.blocks() * sizeof(Spectrum::Value));
    uint64_t least = 16;
    while (groups_of(least) * bytes > available) least *= 2;
    return least;
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
    for (int t = 0; t < static_cast<int>(tables_.size()); t++) values += grouped_.separator(t).count;
    return values * sizeof(Spectrum::Value);
}

std::vector<TensorSketch::TransformedGroups> TensorSketch::transform_groups(const Factors& factors) {
    std::vector<TransformedGroups> transforms;
    const uint64_t least = min_rows();
    for (const HashedRows& hashed : tables_) transforms.emplace_back(hashed, least, frequencies_, context_.memory());
    const auto is_empty = [](const TransformedGroups& chosen) { return chosen.groups.empty(); };
    if (std::all_of(transforms.begin(), transforms.end(), is_empty)) return transforms;
    std::vector<FourierTransform> fourier = one_for_each_thread();
    ThreadTeam team(context_, static_cast<int>(fourier.size()));
    WorkerContexts contexts(context_, team.size(), 0, what_sketch);
    for (size_t t = 0; t < tables_.size(); t++) {
        TransformedGroups& chosen = transforms[t];
        ColumnFactors<SumProduct>{factors}.visit(t, [&](auto&& phi) {
            team.for_each(chosen.groups.size(), [&](size_t number, int worker) {
                contexts.run(worker, [&](RunContext& context) {
                    transform_group(tables_[t], chosen.groups[number], frequencies_, fourier[worker], phi,
                                    chosen.spectra.data() + number * frequencies_.blocks(), context);
                });
            });
        });
    }
    return transforms;
}

double TensorSketch::squared_norm(const Factors& factors) {
    const std::vector<TransformedGroups> transforms = transform_groups(factors);
    WorkerContexts contexts(context_, team_.size(), query_bytes(), what_sketch);
    Buffer<double> norms(context_.memory(), what_sketch, frequencies_.blocks());
    std::atomic<uint64_t> done{0};
    context_.share_progress("sketching", 0, norms.size());
    team_.for_each(norms.size(), [&](size_t block, int worker) {
        contexts.run(worker, [&](RunContext& context) {
            InsideOut<Spectrum, BlockFactors> query(grouped_, grouped_.tree().root(),
                                                    {*this, factors, transforms, block}, context);
            norms[block] = frequencies_.squared_norm(block, query.total());
        });
        done++;
        if (worker == 0) context_.share_progress("sketching", done, norms.size());
    });
    return std::accumulate(norms.begin(), norms.end(), 0.0);
}

} // namespace btml::relational
