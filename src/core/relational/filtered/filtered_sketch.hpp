// The sum that FilteredSums evaluates, as a vector over the selected rows of a join, and its squared norm by tensor
// sketch: Σ over the join's rows of weight · (Σ_q coefficient_q · [the row passes q] · value^power_q)², without the
// pairs of queries that its exact value takes (Cromp, Samadian, Pruhs: Relational Boosted Regression Trees, §3). All
// queries are evaluated together, some frequencies at a time, and so are the norms of all tables' rows: a row's own
// number is of modulus 1 at every frequency, so its norm is that of what the other tables contribute.
#pragma once

#include "core/relational/filtered/sub_query_messages.hpp"

namespace btml::relational {

class FilteredSketch {
  public:
    explicit FilteredSketch(const FilteredJoin& filtered) : filtered_(filtered), messages_(filtered) {}

    // norms[t][ρ] += the squared norm over the selected join rows that ρ takes part in, for the rows ρ of the selection
    // and tables t with norms[t]. By one sketch of `size` numbers (its errors are those of TensorSketch); different
    // seeds give independent sketches. For how far it is off, see sketch_size.hpp. No query has power 2.
    void add_norms(const Selection& selection, const std::vector<FilterQuery>& queries, uint64_t size, uint64_t seed,
                   const std::vector<double*>& norms);

    // Bytes of the messages at most (or as many as one query takes); they are kept for the next call.
    static constexpr uint64_t block_memory = uint64_t{256} << 20;
    // Bytes that a sketch of `size` numbers of so many queries takes at most.
    static uint64_t bytes(const GroupedJoin& join, uint64_t size, uint64_t queries);

  private:
    struct Block;
    struct Sketch;

    std::vector<Block> blocks_of(std::vector<FilterQuery> queries) const;
    Sketch hash_rows(const Selection& selection, const AliveGroups& alive, uint64_t size, uint64_t seed) const;
    void pass_messages(const Selection& selection, const AliveGroups& alive, const Block& block, const Sketch& sketch,
                       uint64_t frequencies);
    void add_rows(const Selection& selection, const AliveGroups& alive, const Block& block, size_t table,
                  const kernels::SpectrumNorms& out);

    const FilteredJoin filtered_;
    SubQueryMessages<Spectrum::Value> messages_;
};

} // namespace btml::relational
