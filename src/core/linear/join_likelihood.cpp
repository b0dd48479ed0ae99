#include "core/linear/join_likelihood.hpp"

#include "core/base/worker_contexts.hpp"
#include "core/linear/join_groups.hpp"
#include "core/linear/lanes.hpp"
#include "core/linear/row_block.hpp"
#include "core/relational/join/both_ways.hpp"

#include <algorithm>
#include <numeric>

namespace btml::linear {

using relational::BothWays;
using relational::Counting;
using relational::Join;
using relational::RowGroups;
using relational::RowId;
using relational::SumProduct;

namespace {

constexpr const char* what_tables = "the tables of a linear model";

struct MomentRing {
    using Value = Moments;
    static Moments zero() { return {}; }
    static Moments one() { return {1.0, 0.0, 0.0}; }
    static Moments add(const Moments& a, const Moments& b) {
        return {a.weight + b.weight, a.sum + b.sum, a.squares + b.squares};
    }
    static Moments multiply(const Moments& a, const Moments& b) {
        const DoubleDouble cross = a.sum * b.sum;
        return {a.weight * b.weight, a.sum * b.weight + a.weight * b.sum,
                a.squares * b.weight + a.weight * b.squares + (cross + cross)};
    }
};

// Returns Σ over the rows of each group of a number.
template <class Number, class NumberOf>
Buffer<Number> sums_of_groups(const Buffer<RowId>& first, RunContext& context, const NumberOf& number_of) {
    Buffer<Number> sums(context.memory(), what_tables, first.size() - 1, Number{});
    context.for_each(sums.size(), 4, [&](uint64_t group) {
        for (RowId row = first[group]; row < first[group + 1]; row++) sums[group] += number_of(row);
    });
    return sums;
}

// Returns Σ over the join's rows of products of the tables' numbers.
uint64_t count_of(const Join& groups, const std::vector<Buffer<uint64_t>>& numbers, RunContext& context) {
    using Query = relational::InsideOut<Counting, relational::RowFactors<Counting>>;
    return Query(groups, groups.tree().root(), {numbers}, context).total();
}

} // namespace

JoinLikelihood::JoinLikelihood(Join join, const relational::DatasetPlan& plan, ThreadTeam& team, RunContext& context)
    : Likelihood(Family::gaussian, team, context),
      target_table_(static_cast<size_t>(plan.target.table)),
      target_(context.memory(), what_tables) {
    std::vector<RowGroups> groups = groups_by_content(join, team, context);
    std::vector<const RowGroups*> each;
    for (const RowGroups& of_table : groups) each.push_back(&of_table);
    groups_.emplace(relational::join_of_groups(join, each, context));
    const auto order_of = [&](int table) -> const Buffer<RowId>& { return groups[table].rows; };
    Dataset dataset = relational::make_dataset(std::move(join), order_of, plan, context);
    features_ = {dataset.features.begin(), dataset.features.end()};
    make_parts(dataset, std::move(groups));
    make_designs(dataset);
    target_ = std::move(dataset.target);
    gather_columns();
}

template <class Body>
void JoinLikelihood::for_each_table(const Body& body) const {
    for_each_item(team(), parts_.size(), context(), [&](size_t t, RunContext& own) {
        if (parts_[t].design) body(t, own);
    });
}

void JoinLikelihood::make_parts(Dataset& dataset, std::vector<RowGroups> groups) {
    MemoryBudget& memory = context().memory();
    const auto none = [&] { return Buffer<double>(memory, what_tables); };
    for (RowGroups& of_table : groups)
        parts_.push_back({std::move(of_table.first), none(), none(), none(), {}, nullptr});
    for (uint32_t f = 0; f < dataset.features.size(); f++) parts_[dataset.features[f].table].features.push_back(f);
    Part& of_target = parts_[target_table_];
    if (!dataset.weight.empty()) {
        of_target.training = dataset.weight.copy(context());
        of_target.held = std::move(dataset.weight);
    }
    if (dataset.holdout_table < 0) {
        of_target.held = Buffer<double>(memory, what_tables, of_target.rows(), 0.0);
        return;
    }
    Part& of_holdout = parts_[dataset.holdout_table];
    for (Buffer<double>* const worths : {&of_holdout.training, &of_holdout.held})
        if (worths->empty()) *worths = Buffer<double>(memory, what_tables, of_holdout.rows(), 1.0);
    context().for_each(dataset.holdout.size(), 1, [&](uint64_t row) {
        (dataset.holdout[row] != 0 ? of_holdout.training : of_holdout.held)[row] = 0;
    });
}

// Every group takes part in rows of the join, whose number and weight follow from its own rows and from what it joins
// with.
void JoinLikelihood::make_designs(Dataset& dataset) {
    std::vector<Buffer<uint64_t>> training, held;
    std::vector<Buffer<double>> weights;
    for (const Part& part : parts_) {
        training.push_back(
            sums_of_groups<uint64_t>(part.first, context(), [&](RowId row) { return part.worth(row) > 0; }));
        held.push_back(
            sums_of_groups<uint64_t>(part.first, context(), [&](RowId row) { return part.worth(row, true) > 0; }));
        weights.push_back(sums_of_groups<double>(part.first, context(), [&](RowId row) { return part.worth(row); }));
    }
    held_rows_ = count_of(*groups_, held, context());
    if (count_of(*groups_, training, context()) == 0) refuse_no_training_rows(dataset.rows, held_rows_);
    {
        const BothWays<SumProduct> messages(*groups_, weights, team(), context());
        for (size_t t = 0; t < parts_.size(); t++)
            parts_[t].weight_beside = messages.beside(static_cast<int>(t), context());
    }
    const BothWays<Counting> messages(*groups_, training, team(), context());
    for (size_t t = 0; t < dataset.tables.size(); t++) // without bags
        make_design(parts_[t], messages.beside(static_cast<int>(t), context()), dataset);
}

// A row of the table stands for all rows of the join that it takes part in.
void JoinLikelihood::make_design(Part& part, const Buffer<uint64_t>& count_beside, Dataset& dataset) {
    MemoryBudget& memory = context().memory();
    const uint64_t rows = part.rows();
    OrderedRows own{Dataset(memory, rows), rows, Buffer<uint64_t>(memory, what_tables, rows)};
    own.dataset.add_table(rows);
    own.dataset.weight.resize(rows);
    context().for_each(part.groups(), 4, [&](uint64_t group) {
        for (RowId row = part.first[group]; row < part.first[group + 1]; row++) {
            own.dataset.weight[row] = part.worth(row) * part.weight_beside[group];
            own.repeats[row] = part.worth(row) > 0 ? count_beside[group] : 0;
        }
    });
    for (const uint32_t f : part.features) {
        FeatureColumn& feature = dataset.features[f];
        context().for_each(feature.numbers.size(), 1,
                           [&](uint64_t row) { check_feature(feature.numbers[row], feature.name); });
        feature.table = 0;
        own.dataset.features.push_back(std::move(feature));
    }
    part.design = std::make_unique<Design>(std::move(own), team(), context());
}

// Columns of the tables become those of the model, in the order of its features.
void JoinLikelihood::gather_columns() {
    struct Place {
        size_t table, number;
    };
    std::vector<std::vector<Place>> by_feature(features_.size());
    references_.resize(features_.size());
    missing_.resize(features_.size());
    for (size_t t = 0; t < parts_.size(); t++) {
        Part& part = parts_[t];
        if (!part.design) continue;
        const std::vector<Column>& columns = part.design->columns().all();
        part.numbers.resize(columns.size());
        for (size_t c = 0; c < columns.size(); c++) by_feature[part.features[columns[c].feature]].push_back({t, c});
        for (size_t f = 0; f < part.features.size(); f++) {
            references_[part.features[f]] = part.design->references()[f];
            missing_[part.features[f]] = part.design->missing()[f];
        }
    }
    std::vector<Column> columns;
    std::vector<bool> categorical;
    for (uint32_t f = 0; f < features_.size(); f++) {
        categorical.push_back(features_[f].categorical);
        for (const Place& place : by_feature[f]) {
            parts_[place.table].numbers[place.number] = static_cast<uint32_t>(columns.size());
            columns.push_back(parts_[place.table].design->columns().all()[place.number]);
            columns.back().feature = f;
        }
    }
    columns_.emplace(std::move(columns), std::move(categorical));
    find_places();
}

void JoinLikelihood::find_places() {
    for (Part& part : parts_) {
        if (!part.design) continue;
        const Columns& own = part.design->columns();
        part.places.assign(own.size(), 0);
        for (size_t place = 1; place < own.size(); place++)
            part.places[place] = columns_->place_of(part.numbers[own.number_at(place)]);
    }
}

void JoinLikelihood::drop(const std::vector<size_t>& places) {
    columns_->drop(places);
    find_places();
}

TargetSums JoinLikelihood::targets() const {
    const Design& design = *parts_[target_table_].design;
    TargetSums sums;
    double largest = 0;
    std::optional<double> first;
    context().for_each(target_.size(), 2, [&](uint64_t row) {
        const double w = design.weight(row), y = target_[row];
        const uint64_t repeats = design.repeats(row);
        largest = std::max(largest, std::fabs(y));
        if (repeats == 0) return;
        sums.rows += repeats;
        sums.weight += w;
        sums.targets += w * y;
        sums.terms += static_cast<double>(repeats) * log_likelihood_term(family(), y, parts_[target_table_].worth(row));
        sums.is_constant &= y == first.value_or(y);
        first = y;
    });
    check_targets(largest);
    return sums;
}

std::vector<Buffer<double>> JoinLikelihood::residual_parts(std::span<const double> coefficients) const {
    std::vector<Buffer<double>> residuals;
    for (const Part& part : parts_) residuals.emplace_back(context().memory(), what_tables, part.rows(), 0.0);
    for_each_table([&](size_t t, RunContext& own) {
        const Part& part = parts_[t];
        std::vector<double> of_design(part.places.size());
        for (size_t place = 0; place < of_design.size(); place++)
            of_design[place] = place > 0 && part.places[place] == 0 ? 0 : coefficients[part.places[place]];
        if (!has_target(t)) of_design[0] = 0;
        for_each_block(*part.design, 0, part.rows(), own, [&](RowBlock& rows, uint64_t begin) {
            const std::span<const double> scores = rows.score(of_design);
            for (size_t i = 0; i < scores.size(); i++)
                residuals[t][begin + i] = (has_target(t) ? target_[begin + i] : 0) - scores[i];
        });
    });
    return residuals;
}

std::vector<Buffer<Moments>> JoinLikelihood::moments_of(const std::vector<Buffer<double>>& residuals,
                                                        bool is_held) const {
    std::vector<Buffer<Moments>> moments;
    for (size_t t = 0; t < parts_.size(); t++) {
        const Part& part = parts_[t];
        Buffer<Moments>& sums = moments.emplace_back(context().memory(), what_tables, part.groups(), Moments{});
        context().for_each(sums.size(), 8, [&](uint64_t group) {
            for (RowId row = part.first[group]; row < part.first[group + 1]; row++) {
                const DoubleDouble worth = part.worth(row, is_held), residual = residuals[t][row];
                const DoubleDouble weighted = worth * residual;
                sums[group] = MomentRing::add(sums[group], {worth, weighted, weighted * residual});
            }
        });
    }
    return moments;
}

double JoinLikelihood::deviance_of(const std::vector<Buffer<double>>& residuals, const Buffer<Moments>& beside,
                                   bool is_held, RunContext& own_context) const {
    const Part& part = parts_[target_table_];
    DoubleDouble deviance;
    own_context.for_each(part.groups(), 8, [&](uint64_t group) {
        for (RowId row = part.first[group]; row < part.first[group + 1]; row++) {
            const DoubleDouble residual = residuals[target_table_][row];
            const Moments own{1.0, residual, residual * residual};
            deviance += part.worth(row, is_held) * MomentRing::multiply(own, beside[group]).squares;
        }
    });
    return std::max(deviance.nearest(), 0.0); // NaN where it overflows
}

void JoinLikelihood::add_slopes(size_t table, const Buffer<double>& residuals, const Buffer<Moments>& beside,
                                RunContext& own, Buffer<double>& slopes) const {
    const Part& part = parts_[table];
    std::vector<double> sums(part.places.size());
    Buffer<double> slope(own.memory(), what_tables, residuals.size());
    own.for_each(part.groups(), 8, [&](uint64_t group) {
        for (RowId row = part.first[group]; row < part.first[group + 1]; row++)
            slope[row] = part.worth(row) * (beside[group].weight * residuals[row] + beside[group].sum).nearest();
    });
    for_each_block(*part.design, 0, part.rows(), own, [&](RowBlock& rows, uint64_t begin) {
        for (size_t i = 0; i < rows.count(); i++) rows.set(i, slope[begin + i], 0);
        rows.add_slopes(sums.data());
    });
    if (has_target(table)) slopes[0] = sums[0];
    for (size_t place = 1; place < sums.size(); place++)
        if (part.places[place] > 0) slopes[part.places[place]] = sums[place];
}

LikelihoodSums JoinLikelihood::at(std::span<const double> coefficients, Curvature curvature) const {
    LikelihoodSums sums(context().memory());
    sums.slopes = Buffer<double>(context().memory(), sums.slopes.what(), columns_->size(), 0.0);
    const std::vector<Buffer<double>> residuals = residual_parts(coefficients);
    const std::vector<Buffer<Moments>> moments = moments_of(residuals, false);
    const BothWays<MomentRing> messages(*groups_, moments, team(), context());
    for_each_table([&](size_t t, RunContext& own) {
        if (parts_[t].features.empty() && !has_target(t)) return;
        const Buffer<Moments> beside = messages.beside(static_cast<int>(t), own);
        add_slopes(t, residuals[t], beside, own, sums.slopes);
        if (has_target(t)) sums.deviance = sums.pearson = deviance_of(residuals, beside, false, own);
    });
    if (curvature != Curvature::none) sums.matrix = matrix();
    return sums;
}

double JoinLikelihood::held_out(std::span<const double> coefficients) const {
    const std::vector<Buffer<double>> residuals = residual_parts(coefficients);
    const std::vector<Buffer<Moments>> moments = moments_of(residuals, true);
    const BothWays<MomentRing> messages(*groups_, moments, team(), context());
    const Buffer<Moments> beside = messages.beside(static_cast<int>(target_table_), context());
    DoubleDouble weight;
    context().for_each(beside.size(), 4,
                       [&](uint64_t group) { weight += moments[target_table_][group].weight * beside[group].weight; });
    return deviance_of(residuals, beside, true, context()) / weight.nearest();
}

// Columns of one table meet in its rows, those of different tables in messages of what groups have on average.
Buffer<double> JoinLikelihood::matrix() const {
    const size_t size = columns_->size();
    Buffer<double> matrix(context().memory(), "the matrix of a linear model", size * size, 0.0);
    std::vector<TableMeans> means;
    for (size_t t = 0; t < parts_.size(); t++) {
        means.push_back(means_of(parts_[t]));
        if (parts_[t].design && (has_target(t) || !parts_[t].features.empty())) add_products_within(t, matrix);
    }
    add_products_across(*groups_, means, size, team(), context(), matrix);
    return matrix;
}

void JoinLikelihood::add_products_within(size_t table, Buffer<double>& matrix) const {
    const Part& part = parts_[table];
    const size_t size = columns_->size(), own_size = part.places.size();
    const auto add = [&](uint64_t first, uint64_t last, LikelihoodSums& to, RunContext& own) {
        for_each_block(*part.design, first, last, own, [&](RowBlock& rows, uint64_t begin) {
            for (size_t i = 0; i < rows.count(); i++) rows.set(i, 0, part.design->weight(begin + i));
            rows.add_matrix(to.matrix.data(), own_size, own);
        });
    };
    const LikelihoodSums sums = sums_in_lanes(0, part.rows(), own_size, true, team(), context(), add);
    if (has_target(table)) matrix[0] = sums.matrix[0];
    for (size_t i = 1; i < own_size; i++)
        for (size_t j = 0; j <= i; j++) {
            const size_t a = part.places[i], b = part.places[j];
            if (a == 0 || (b == 0 && j > 0)) continue; // dropped
            matrix[std::max(a, b) * size + std::min(a, b)] = sums.matrix[i * own_size + j];
        }
}

TableMeans JoinLikelihood::means_of(const Part& part) const {
    MemoryBudget& memory = context().memory();
    const auto worth = [&](RowId row) { return part.worth(row); };
    TableMeans made{{},
                    Buffer<double>(memory, what_tables),
                    sums_of_groups<double>(part.first, context(), worth),
                    part.weight_beside.copy(context())};
    context().for_each(part.groups(), 1, [&](uint64_t group) { made.totals[group] *= made.weights[group]; });
    if (!part.design || part.features.empty()) return made;
    std::vector<size_t> own_places;
    for (size_t place = 1; place < part.places.size(); place++)
        if (part.places[place] > 0) own_places.push_back(place);
    for (const size_t place : own_places) made.places.push_back(part.places[place]);
    made.means.reserve(part.groups() * own_places.size());
    std::vector<double> sums(part.places.size());
    RowBlock rows(*part.design, memory);
    uint64_t begin = 0, end = 0; // of the rows that were read
    for (uint64_t group = 0; group < part.groups(); group++) {
        std::fill(sums.begin(), sums.end(), 0);
        for (uint64_t row = part.first[group]; row < part.first[group + 1]; row++) {
            if (row == end) {
                begin = end;
                end = std::min<uint64_t>(part.rows(), begin + block_rows);
                rows.read(begin, end);
            }
            rows.add_row(row - begin, part.worth(row), sums.data());
        }
        for (const size_t place : own_places)
            made.means.append_reserved(made.weights[group] > 0 ? sums[place] / made.weights[group] : 0);
        context().worked((part.first[group + 1] - part.first[group] + 1) * (1 + sums.size() / 4));
    }
    return made;
}

} // namespace btml::linear
