// Tensor sketch of a vector over the rows of a join, and its squared norm: Σ r² over the join without the join
// (Cromp, Samadian, Pruhs: Relational Boosted Regression Trees, §3; Pham and Pagh, KDD 2013). A join row is the tuple
// of its tables' row ids: it adds its sign times r to the coordinate Σ_t h_t(ρ_t) mod k. Only the Fourier transform of
// these k numbers is formed, some frequencies at a time: each frequency is a SumProd query over complex numbers of its
// own, so nothing of size k is kept for a row.
#pragma once

#include "core/base/threads.hpp"
#include "core/base/worker_contexts.hpp"
#include "core/relational/hashed_rows.hpp"
#include "core/relational/inside_out.hpp"
#include "core/relational/sum_product.hpp"

namespace btml::relational {

// The vector that is sketched is a type with terms(), coefficient(q) and visit(q, table, body):
//   r(ρ_1, …, ρ_τ) = Σ over 0 ≤ q < terms() of coefficient(q) · Π_t φ_qt(ρ_t),
// where body(phi) is called once and phi(row) is φ_qt(row), a double. A model's residuals are such a vector: the
// target, minus the value of each leaf where the leaf's conditions hold (φ is 1 or 0). They are called on several
// threads.

// One product of factors, as for sum_product().
class ProductVector {
  public:
    explicit ProductVector(const Factors& factors) : factors_(factors) {}
    size_t terms() const { return 1; }
    double coefficient(size_t) const { return 1; }
    template <class Body>
    void visit(size_t, int table, Body&& body) const {
        const size_t t = table;
        if (t >= factors_.size() || factors_[t].empty()) {
            body([](RowId) { return 1.0; });
        } else {
            const double* const numbers = factors_[t].data();
            body([numbers](RowId row) { return numbers[row]; });
        }
    }

  private:
    const Factors& factors_;
};

class TensorSketch {
  public:
    // The size as it is. Errors: internal for 0; limit_exceeded over 2^31 − 1.
    static uint32_t checked_size(uint64_t size);

    // The least size from `size` on that transforms are fast for, where there are any.
    static uint64_t fast_size(uint64_t size);

    // Hashes the rows. size: k, see checked_size; fast_size() of it takes less time.
    TensorSketch(const Join& join, uint64_t size, uint64_t seed, RunContext& context);

    // Groups of rows whose transforms replace their rows, for a vector of so many terms.
    uint64_t transformed_groups(size_t terms) const { return groups_of(min_rows(terms)); }
    // A rough forecast for a vector of so many terms, with as many threads as there are.
    double estimated_seconds(size_t terms) const;

    // ‖sk(r)‖², an unbiased estimate of Σ r² over the join; for its error see sketch_size.hpp. The same bytes whatever
    // the number of threads.
    template <class Vector>
    double squared_norm(const Vector& vector);

  private:
    using Block = Spectrum::Value;
    static constexpr const char* what = "a tensor sketch";

    // The groups of each table that are transformed as a whole, and their transforms for each term of a vector.
    struct Transforms {
        std::vector<TransformedGroups> groups;          // by table
        std::vector<std::vector<GroupSpectra>> spectra; // by term, then table

        bool empty() const {
            return std::all_of(groups.begin(), groups.end(), [](const auto& chosen) { return chosen.groups.empty(); });
        }
    };

    // The factors of one term for one block of frequencies.
    template <class Vector>
    struct BlockFactors {
        const TensorSketch& sketch;
        const Vector& vector;
        const Transforms& transforms;
        size_t term;
        uint64_t block;

        template <class Body>
        void visit(int table, Body&& body) const {
            const size_t t = table;
            const HashedRows& hashed = sketch.tables_[t];
            const RootsOfUnity& roots = sketch.roots_;
            const uint32_t* const numbers = transforms.groups[t].numbers.data();
            const Block* const spectra = transforms.spectra[term][t].data() + block;
            const uint64_t blocks = sketch.frequencies_.blocks();
            vector.visit(term, table, [&](auto&& phi) {
                body([&](RowId group) {
                    if (numbers[group] != TransformedGroups::none) return spectra[numbers[group] * blocks];
                    return hashed.transform(group, block, roots, phi);
                });
            });
        }
    };

    // The groups to transform, with room for their transforms.
    Transforms choose_groups(size_t terms);
    // A transform for each thread, fewer where they would take more than half of the memory that is left.
    std::vector<FourierTransform> one_for_each_thread();
    template <class Vector>
    Transforms transform_groups(const Vector& vector);
    // add(query, coefficient) for the query of each term.
    template <class Vector, class Add>
    void for_each_term(const Vector& vector, const Transforms& transforms, uint64_t block, RunContext& context,
                       Add&& add) const;
    // body(block, context) for the blocks of frequencies, on all threads.
    template <class Body>
    void for_each_block(WorkerContexts& contexts, Body&& body);

    // The least number of rows that makes a group worth transforming, where the transforms fit the memory.
    uint64_t min_rows(size_t terms) const;
    uint64_t groups_of(uint64_t min_rows) const;
    // Bytes that one thread needs for a query.
    uint64_t query_bytes() const;

    uint32_t size_;
    RunContext& context_;
    ThreadTeam team_;
    std::vector<HashedRows> tables_;
    Join grouped_; // one row for each group
    Frequencies frequencies_;
    RootsOfUnity roots_;
};

template <class Vector>
TensorSketch::Transforms TensorSketch::transform_groups(const Vector& vector) {
    Transforms transforms = choose_groups(vector.terms());
    if (transforms.empty()) return transforms;
    std::vector<FourierTransform> fourier = one_for_each_thread();
    ThreadTeam team(context_, static_cast<int>(fourier.size()));
    WorkerContexts contexts(context_, team.size(), 0, what);
    for (size_t q = 0; q < vector.terms(); q++)
        for (size_t t = 0; t < tables_.size(); t++) {
            const Buffer<uint32_t>& groups = transforms.groups[t].groups;
            GroupSpectra& spectra = transforms.spectra[q][t];
            vector.visit(q, static_cast<int>(t), [&](auto&& phi) {
                team.for_each(groups.size(), [&](size_t number, int worker) {
                    contexts.run(worker, [&](RunContext& context) {
                        transform_group(tables_[t], groups[number], frequencies_, fourier[worker], phi,
                                        spectra.data() + number * frequencies_.blocks(), context);
                    });
                });
            });
        }
    return transforms;
}

template <class Vector, class Add>
void TensorSketch::for_each_term(const Vector& vector, const Transforms& transforms, uint64_t block,
                                 RunContext& context, Add&& add) const {
    const int root = grouped_.tree().root();
    for (size_t q = 0; q < vector.terms(); q++) {
        InsideOut<Spectrum, BlockFactors<Vector>> query(grouped_, root, {*this, vector, transforms, q, block}, context);
        add(query, vector.coefficient(q));
    }
}

template <class Body>
void TensorSketch::for_each_block(WorkerContexts& contexts, Body&& body) {
    std::atomic<uint64_t> done{0};
    team_.for_each(frequencies_.blocks(), [&](size_t block, int worker) {
        contexts.run(worker, [&](RunContext& context) { body(block, context); });
        done++;
        if (worker == 0) context_.progress("sketching", done, frequencies_.blocks());
    });
}

template <class Vector>
double TensorSketch::squared_norm(const Vector& vector) {
    const Transforms transforms = transform_groups(vector);
    WorkerContexts contexts(context_, team_.size(), query_bytes(), what);
    Buffer<double> norms(context_.memory(), what, frequencies_.blocks());
    for_each_block(contexts, [&](uint64_t block, RunContext& context) {
        Block sum = Spectrum::zero();
        for_each_term(vector, transforms, block, context, [&](auto& query, double coefficient) {
            sum = Spectrum::add(sum, Spectrum::scale(coefficient, query.total()));
        });
        norms[block] = frequencies_.squared_norm(block, sum);
    });
    double norm = 0;
    for (double part : norms) norm += part;
    return norm;
}

} // namespace btml::relational
