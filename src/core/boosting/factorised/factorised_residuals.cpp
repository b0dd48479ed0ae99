#include "core/boosting/factorised/factorised_residuals.hpp"

#include "core/base/timing.hpp"
#include "core/boosting/factorised/query_costs.hpp"
#include "core/boosting/factorised/sketched_squares.hpp"

namespace btml::boosting::factorised {

using namespace relational;

JoinResiduals::JoinResiduals(const GroupedJoin& join, size_t target_table, const Options& options, ThreadTeam& team,
                             RunContext& context, const Allowance& allowance)
    : options_(options),
      allowance_(allowance),
      context_(context),
      queries_(join, target_table, team, context),
      of_node_(join.tables().size(), context.memory()),
      root_(join.tables().size(), context.memory()) {}

void JoinResiduals::start(const double* weights, uint64_t room, double nanoseconds_of_rows) {
    queries_.start();
    room_ = room;
    nanoseconds_of_rows_ = nanoseconds_of_rows;
    if (allowance_.way == Way::queries) return;
    sub_join_.emplace(queries_.filtered(), weights);
    sub_join_sums_.emplace(*sub_join_);
    if (allowance_.way == Way::automatic && sub_join_->bytes() > room_) drop_cells();
}

void JoinResiduals::drop_cells() {
    sub_join_sums_.reset();
    sub_join_.reset();
    of_node_ = RowSums(of_node_.sums.size(), context_.memory());
}

double JoinResiduals::rows_of_tables() const {
    double rows = 0;
    for (size_t t = 0; t < queries_.filters().size(); t++)
        rows += static_cast<double>(queries_.filtered().table(t).rows);
    return rows;
}

// Returns the number of trees after which something is summed for each.
int JoinResiduals::trees_before_sums() const {
    return std::max(trees_, allowance_.known_trees);
}

// Returns what the queries of a node would take, on average over the trees to come.
double JoinResiduals::nanoseconds_of_queries() const {
    const double leaves = static_cast<double>(queries_.queries().size()) / trees_;
    const double growth = (trees_before_sums() + options_.trees) / (2.0 * trees_), part = relevant_part(leaves);
    const double queries = static_cast<double>(queries_.queries().size()) * growth * part;
    const bool squares = options_.criterion == Criterion::mse_sum && !sketches_squares(options_);
    double sum = 0;
    for (size_t t = 0; t < queries_.filters().size(); t++) {
        const GroupedTable& table = queries_.filtered().table(t);
        const double conditions = queries_.filters()[t].count() * growth * part;
        const double products = static_cast<double>(table.groups()) * static_cast<double>(1 + table.edges.size());
        const bool is_touched = conditions > 0 || table.edges.size() > 1; // of the others all queries ask the same
        sum += static_cast<double>(table.rows) * per_filtered_row * conditions +
               products * per_group_product * (is_touched ? queries : 1);
        if (squares) sum += products * per_pair_product * queries * queries * 2 / 3;
    }
    return sum;
}

// Returns how many nodes of the trees to come are summed: of two siblings, one is. Trees stay as large as they are.
double JoinResiduals::nodes_left() const {
    const double leaves = static_cast<double>(queries_.queries().size()) / trees_;
    return leaves / 2 * (options_.trees - trees_before_sums());
}

double JoinResiduals::nanoseconds_of_sketches() const {
    return allowance_.sketching_nanoseconds * left_of_squares(trees_before_sums(), options_.trees);
}

double JoinResiduals::nanoseconds_of_cell() const {
    return per_cell + per_cell_table * static_cast<double>(sub_join_->held().size());
}

// Returns how many cells may be summed up in the time that queries would take, or in that of looking at the tables'
// rows.
uint64_t JoinResiduals::worthwhile_cells() const {
    static constexpr double most = 1e18;
    return static_cast<uint64_t>(
        std::min(most, std::max(rows_of_tables(), nanoseconds_of_queries() / nanoseconds_of_cell())));
}

void JoinResiduals::subtract(const std::vector<TrainingSet::Leaf>& leaves, const TreeNodes& nodes) {
    trees_++;
    for (const TrainingSet::Leaf& leaf : leaves)
        if (leaf.value != 0) queries_.subtract(nodes[leaf.node], leaf.value);
    if (sub_join_ && !subtract_from_cells(leaves, nodes)) drop_cells();
    if (allowance_.way == Way::automatic) check_allowance();
}

void JoinResiduals::check_allowance() const {
    const double of_residuals =
        sub_join_ ? static_cast<double>(sub_join_->cells()) * nanoseconds_of_cell() : nanoseconds_of_queries();
    const double left = nodes_left() * (nanoseconds_of_rows_ + of_residuals) + nanoseconds_of_sketches();
    if (left > allowance_.max_nanoseconds)
        throw NotWorthIt{format("factorising was given up after %d of %d trees: the others were estimated at %s of one "
                                "thread, all with the rows held at %s",
                                trees_before_sums() - allowance_.known_trees, options_.trees - allowance_.known_trees,
                                about_seconds(left * 1e-9).c_str(),
                                about_seconds(allowance_.max_nanoseconds * 1e-9).c_str())};
}

bool JoinResiduals::subtract_from_cells(const std::vector<TrainingSet::Leaf>& leaves, const TreeNodes& nodes) {
    std::vector<SubJoin::Leaf> subtracted;
    for (const TrainingSet::Leaf& leaf : leaves) {
        if (leaf.value == 0) continue;
        SubJoin::Leaf& added = subtracted.emplace_back();
        added.value = static_cast<double>(leaf.value);
        for (const auto& rows : nodes[leaf.node]) added.rows.push_back(rows.get());
    }
    const SubJoin::Limits limits = allowance_.way == Way::cells ? SubJoin::Limits{UINT64_MAX, UINT64_MAX}
                                                                : SubJoin::Limits{worthwhile_cells(), room_};
    if (!sub_join_->subtract(subtracted, limits)) return false;
    sub_join_sums_->update();
    return true;
}

const RowSums& JoinResiduals::sums(const Selection& selection, const std::vector<bool>& tables, bool with_squares) {
    if (!sub_join_) {
        of_node_ = queries_.sums(selection, tables);
        if (with_squares) of_node_.squares = queries_.squares(selection, tables);
        return of_node_;
    }
    std::vector<SubJoinSums::Target> targets;
    for (size_t t = 0; t < tables.size(); t++) {
        const auto place = [&](Buffer<double>& numbers, bool is_asked) {
            numbers.resize(tables[t] && is_asked ? queries_.filtered().table(t).rows : 0);
            return numbers.empty() ? nullptr : numbers.data();
        };
        targets.push_back(
            {place(of_node_.counts[t], true), place(of_node_.sums[t], true), place(of_node_.squares[t], with_squares)});
    }
    sub_join_sums_->write(selection, targets);
    return of_node_;
}

// Sums of all tables are kept up to date, as only the last tree's leaves are new.
const RowSums& JoinResiduals::root_sums(const Selection& selection, const std::vector<bool>& tables,
                                        bool with_squares) {
    if (sub_join_) return sums(selection, tables, with_squares);
    if (root_queries_ == 0)
        root_ = queries_.sums(selection, std::vector<bool>(tables.size(), true));
    else
        queries_.update(root_, selection, root_queries_);
    root_queries_ = queries_.queries().size();
    if (with_squares) root_.squares = queries_.squares(selection, tables);
    return root_;
}

FilteredSums::Total JoinResiduals::total(const Selection& selection) {
    if (!sub_join_) return queries_.total(selection);
    const SubJoinSums::Moments moments = sub_join_sums_->total(selection);
    return {moments.sum, moments.count};
}

std::string JoinResiduals::report() const {
    if (!sub_join_) return "residuals by pairs of leaves";
    return format("residuals by %" PRIu64 " combinations of rows of %zu table%s", sub_join_->cells(),
                  sub_join_->held().size(), sub_join_->held().size() == 1 ? "" : "s");
}

} // namespace btml::boosting::factorised
