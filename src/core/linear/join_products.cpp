#include "core/linear/join_products.hpp"

#include "core/linear/lanes.hpp"
#include "core/linear/row_block.hpp"

namespace btml::linear {

using relational::Join;
using relational::JoinTree;
using relational::Key;

namespace {

constexpr const char* what_messages = "the messages of a linear model";

// Returns how many columns each table and those below it have.
std::vector<size_t> columns_below(const JoinTree& tree, const std::vector<size_t>& columns) {
    std::vector<size_t> below = columns;
    for (size_t i = tree.order.size(); i-- > 1;) below[tree.nodes[tree.order[i]].parent] += below[tree.order[i]];
    return below;
}

double multiplications(const JoinTree& tree, const std::vector<double>& groups, const std::vector<size_t>& columns) {
    const std::vector<size_t> below = columns_below(tree, columns);
    double sum = 0;
    for (const int table : tree.order) {
        const auto count = static_cast<double>(below[table]);
        const bool has_products = !tree.nodes[table].children.empty();
        sum += groups[table] * count * (has_products ? 1 + count / 2 : 1);
    }
    return sum;
}

JoinTree cheapest_tree(const JoinTree& any, const std::vector<double>& groups, const std::vector<size_t>& columns) {
    JoinTree best = any;
    double min_cost = multiplications(best, groups, columns);
    for (int root = 0; root < static_cast<int>(columns.size()); root++) {
        JoinTree tree = relational::reroot(any, root);
        const double cost = multiplications(tree, groups, columns);
        if (cost >= min_cost) continue;
        min_cost = cost;
        best = std::move(tree);
    }
    return best;
}

// A table tells its parent about itself and the tables below it. There is an entry for each key of their separator.
struct Message {
    std::vector<size_t> places;
    Buffer<double> means, weights;
};

// Puts a table together with the messages of the tables below it. Columns of two such parts meet here for the first
// time, and their products are added here.
class MeetingPoint {
  public:
    MeetingPoint(const TableMeans& own, uint64_t groups) : own_(own), groups_(groups) {
        parts_.push_back({&own.places, own.means.data(), nullptr, nullptr});
    }
    void hear(const Message& message, const Buffer<Key>& keys) {
        parts_.push_back({&message.places, message.means.data(), message.weights.data(), keys.data()});
    }

    // Returns the places of all columns, part by part.
    std::vector<size_t> places() const {
        std::vector<size_t> places;
        for (const Part& part : parts_) places.insert(places.end(), part.places->begin(), part.places->end());
        return places;
    }
    void add_products(size_t size, ThreadTeam& team, RunContext& context, Buffer<double>& matrix) const;
    Message message(const Buffer<Key>& keys, uint64_t key_count, RunContext& context) const;

  private:
    struct Part {
        const std::vector<size_t>* places;
        const double *means, *weights; // null: the table's own
        const Key* keys;

        const double* means_of(uint64_t group) const { return means + (keys ? keys[group] : group) * places->size(); }
        double weight_of(uint64_t group) const { return weights ? weights[keys[group]] : 1; }
    };

    // Writes the columns of groups, each block_rows numbers after the one before it, and once more times −totals.
    void read(uint64_t begin, uint64_t end, double* values, double* weighted) const;
    // Returns the part of each column.
    std::vector<size_t> part_numbers() const;

    const TableMeans& own_;
    const uint64_t groups_;
    std::vector<Part> parts_; // the first is the table itself
};

void MeetingPoint::read(uint64_t begin, uint64_t end, double* values, double* weighted) const {
    for (const Part& part : parts_) {
        const size_t count = part.places->size();
        for (uint64_t group = begin; group < end; group++) {
            const double* const means = part.means_of(group);
            for (size_t d = 0; d < count; d++) {
                values[d * block_rows + (group - begin)] = means[d];
                weighted[d * block_rows + (group - begin)] = -own_.totals[group] * means[d];
            }
        }
        values += count * block_rows;
        weighted += count * block_rows;
    }
}

std::vector<size_t> MeetingPoint::part_numbers() const {
    std::vector<size_t> numbers;
    for (size_t p = 0; p < parts_.size(); p++) numbers.insert(numbers.end(), parts_[p].places->size(), p);
    return numbers;
}

void MeetingPoint::add_products(size_t size, ThreadTeam& team, RunContext& context, Buffer<double>& matrix) const {
    const std::vector<size_t> places = this->places(), part = part_numbers();
    const size_t count = places.size();
    if (count == 0 || part.front() == part.back()) return;
    const LikelihoodSums sums = sums_in_lanes(
        0, groups_, count, true, team, context,
        [&](uint64_t first, uint64_t last, LikelihoodSums& to, RunContext& own) {
            Buffer<double> values(own.memory(), what_messages, block_rows * count),
                weighted(own.memory(), what_messages, block_rows * count);
            for (uint64_t begin = first; begin < last; begin += block_rows) {
                const uint64_t end = std::min<uint64_t>(last, begin + block_rows);
                read(begin, end, values.data(), weighted.data());
                subtract_products(weighted.data(), values.data(), count, end - begin, to.matrix.data(), count, own);
                own.worked((end - begin) * (1 + count / 8));
            }
        });
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (part[i] != part[j])
                matrix[std::max(places[i], places[j]) * size + std::min(places[i], places[j])] +=
                    sums.matrix[i * count + j];
}

Message MeetingPoint::message(const Buffer<Key>& keys, uint64_t key_count, RunContext& context) const {
    Message made{places(), Buffer<double>(context.memory(), what_messages),
                 Buffer<double>(context.memory(), what_messages, key_count, 0.0)};
    const size_t count = made.places.size();
    made.means = Buffer<double>(context.memory(), what_messages, key_count * count, 0.0);
    context.for_each(groups_, 1 + count / 4, [&](uint64_t group) {
        double weight = own_.weights[group];
        for (const Part& part : parts_) weight *= part.weight_of(group);
        made.weights[keys[group]] += weight;
        double* sums = &made.means[keys[group] * count];
        for (const Part& part : parts_) {
            const double* const means = part.means_of(group);
            for (size_t d = 0; d < part.places->size(); d++) *sums++ += weight * means[d];
        }
    });
    context.for_each(key_count, 1 + count / 4, [&](uint64_t key) {
        if (made.weights[key] == 0) return; // so are the sums
        for (size_t d = 0; d < count; d++) made.means[key * count + d] /= made.weights[key];
    });
    return made;
}

} // namespace

void add_products_across(const Join& groups, const std::vector<TableMeans>& tables, size_t size, ThreadTeam& team,
                         RunContext& context, Buffer<double>& matrix) {
    std::vector<double> counts;
    std::vector<size_t> columns;
    for (const TableMeans& table : tables) {
        counts.push_back(static_cast<double>(table.weights.size()));
        columns.push_back(table.places.size());
    }
    const JoinTree tree = cheapest_tree(groups.tree(), counts, columns);
    std::vector<std::optional<Message>> messages(tables.size());
    for (size_t i = tree.order.size(); i-- > 0;) {
        const int table = tree.order[i];
        const JoinTree::Node& node = tree.nodes[table];
        MeetingPoint point(tables[table], groups.tables()[table].rows);
        for (const int child : node.children) point.hear(*messages[child], groups.keys(table, child));
        point.add_products(size, team, context, matrix);
        if (node.parent >= 0)
            messages[table] =
                point.message(groups.keys(table, node.parent), groups.key_count(table, node.parent), context);
        for (const int child : node.children) messages[child].reset();
    }
}

double products_across(const JoinTree& tree, const std::vector<double>& groups, const std::vector<size_t>& columns) {
    return multiplications(cheapest_tree(tree, groups, columns), groups, columns);
}

} // namespace btml::linear
