// Sums of a gaussian over the rows of a join by messages between its tables, at their cost: no row is ever formed.
// The matrix is the one of Schleich, Olteanu, Ciucanu: Learning Linear Regression Models over Factorized Joins (2016).
#pragma once

#include "core/linear/design.hpp"
#include "core/linear/join_products.hpp"
#include "core/linear/likelihood.hpp"
#include "core/numbers/double_double.hpp"
#include "core/relational/join/join_dataset.hpp"
#include "core/relational/join/row_groups.hpp"

namespace btml::linear {

// What rows have of a number that each of them is Σ over tables of: Σ w, Σ w·v, Σ w·v². They are a ring: a join's rows
// have the products of what their parts have.
struct Moments {
    DoubleDouble weight, sum, squares;
};

class JoinLikelihood : public Likelihood {
  public:
    // Consumes the join. Errors: as of make_dataset, order_rows and Columns.
    JoinLikelihood(relational::Join join, const relational::DatasetPlan& plan, ThreadTeam& team, RunContext& context);

    const std::vector<Feature>& features() const { return features_; }
    uint64_t held_rows() const { return held_rows_; }
    const std::vector<uint32_t>& references() const { return references_; } // as in Model
    const std::vector<uint64_t>& missing() const { return missing_; }       // as in Model

    const Columns& columns() const override { return *columns_; }
    void drop(const std::vector<size_t>& places) override;
    TargetSums targets() const override;
    LikelihoodSums at(std::span<const double> coefficients, Curvature curvature) const override;
    double held_out(std::span<const double> coefficients) const override;

  private:
    // Rows of a table, in groups that the rest of the join cannot tell apart.
    struct Part {
        Buffer<relational::RowId> first;    // by group, and one more: where its rows begin
        Buffer<double> training, held;      // by row: what it is worth as a part of such a row of the join; empty: 1
        Buffer<double> weight_beside;       // by group: the weight of what it joins with in training rows
        std::vector<uint32_t> features;     // of the table, among all
        std::unique_ptr<Design> design;     // of these
        std::vector<uint32_t> numbers = {}; // of the design's columns, among all
        std::vector<size_t> places = {};    // by place of the design: the place among all, 0 of what was dropped

        uint64_t groups() const { return first.size() - 1; }
        uint64_t rows() const { return first[groups()]; }
        double worth(uint64_t row, bool is_held = false) const {
            const Buffer<double>& worths = is_held ? held : training;
            return worths.empty() ? 1 : worths[row];
        }
    };

    void make_parts(Dataset& dataset, std::vector<relational::RowGroups> groups);
    void make_designs(Dataset& dataset);
    void make_design(Part& part, const Buffer<uint64_t>& count_beside, Dataset& dataset);
    void gather_columns();
    void find_places();
    bool has_target(size_t table) const { return table == target_table_; }
    // Calls body(table, context) for each table, bags not counted, on any thread.
    template <class Body>
    void for_each_table(const Body& body) const;

    // Returns what each row adds to the residual.
    std::vector<Buffer<double>> residual_parts(std::span<const double> coefficients) const;
    std::vector<Buffer<Moments>> moments_of(const std::vector<Buffer<double>>& residuals, bool is_held) const;
    // beside: the moments of all that a table's groups join with, but for themselves.
    double deviance_of(const std::vector<Buffer<double>>& residuals, const Buffer<Moments>& beside, bool is_held,
                       RunContext& context) const;
    void add_slopes(size_t table, const Buffer<double>& residuals, const Buffer<Moments>& beside, RunContext& context,
                    Buffer<double>& slopes) const;
    Buffer<double> matrix() const;
    void add_products_within(size_t table, Buffer<double>& matrix) const;
    TableMeans means_of(const Part& part) const;

    std::vector<Part> parts_; // by table, bags of a cyclic join included
    size_t target_table_;
    std::optional<relational::Join> groups_; // whose rows are groups
    Buffer<double> target_;                  // by row of its table
    std::vector<Feature> features_;
    uint64_t held_rows_ = 0;
    std::vector<uint32_t> references_;
    std::vector<uint64_t> missing_;
    std::optional<Columns> columns_;
};

} // namespace btml::linear
