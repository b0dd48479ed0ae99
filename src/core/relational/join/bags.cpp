#include "core/relational/join/bags.hpp"

#include "core/relational/join/generic_join.hpp"
#include "core/relational/join/hypertree.hpp"

#include <cmath>
#include <iterator>
#include <map>
#include <set>

namespace btml::relational {

namespace {

constexpr const char* what_bag = "a bag of a cyclic join";

double log_size(uint64_t rows) {
    return std::log(std::max<uint64_t>(rows, 1));
}

class BagBuilder {
  public:
    BagBuilder(std::vector<Table>& tables, std::vector<RowMask>& masks, const std::vector<int>& core, BagCodes& codes,
               RunContext& context)
        : tables_(tables), masks_(masks), core_(core), codes_(codes), context_(context), memory_(context.memory()) {
        context.progress("joining a cycle", 0, 0);
        std::map<int, int> tables_with;
        for (int t : core_)
            for (const KeyColumn& key : tables_[t].keys) tables_with[key.attribute]++;
        for (int t : core_) {
            std::vector<int>& edge = edges_.emplace_back();
            for (const KeyColumn& key : tables_[t].keys)
                if (tables_with[key.attribute] > 1) edge.push_back(key.attribute);
            std::sort(edge.begin(), edge.end());
            log_rows_.push_back(log_size(count_kept(masks_[t])));
        }
    }

    CyclicPart build() {
        HypertreeDecomposition decomposition = decompose(
            edges_, [this](int edge, const std::vector<int>& part) { return log_rows(edge, part); }, context_);
        find_asked_for(decomposition.bags);
        find_apart(decomposition.bags);
        CyclicPart part{{}, decomposition.width, decomposition.exact};
        for (std::vector<int>& attributes : decomposition.bags) part.bags.push_back(add_bag(std::move(attributes)));
        return part;
    }

  private:
    SortedRelation project_to(int number, std::vector<int> attributes, Buffer<RowId>* tuples = nullptr) {
        return project(tables_[number], masks_[number], std::move(attributes), context_, tuples);
    }

    // The tables of the cycle know the rows of a bag by their codes; other tables, other bags and contents need keys.
    void find_asked_for(const std::vector<std::vector<int>>& bags) {
        std::map<int, int> bags_with;
        for (const std::vector<int>& bag : bags)
            for (int attribute : bag) bags_with[attribute]++;
        for (const auto& [attribute, count] : bags_with)
            if (count > 1 || tables_.front().content) asked_for_.insert(attribute);
        for (size_t t = 0; t < tables_.size(); t++)
            if (!std::binary_search(core_.begin(), core_.end(), static_cast<int>(t)))
                for (const KeyColumn& key : tables_[t].keys) asked_for_.insert(key.attribute);
    }

    bool is_within(size_t edge, const std::vector<int>& bag) const {
        return std::includes(bag.begin(), bag.end(), edges_[edge].begin(), edges_[edge].end());
    }

    void find_apart(const std::vector<std::vector<int>>& bags) {
        for (size_t e = 0; e < edges_.size(); e++)
            if (std::none_of(bags.begin(), bags.end(), [&](const auto& bag) { return is_within(e, bag); }))
                apart_.insert(core_[e]);
    }

    // Bounds it by the table's rows, and the product of the distinct values of each attribute.
    double log_rows(int edge, const std::vector<int>& part) {
        const int number = core_[edge];
        const double rows = log_rows_[edge];
        if (part.size() == edges_[edge].size()) return rows;
        double product = 0;
        for (int attribute : part) {
            const auto [known, is_new] = distinct_values_.try_emplace({number, attribute}, 0);
            if (is_new) known->second = log_size(project_to(number, {attribute}).rows);
            product += known->second;
        }
        return std::min(rows, product);
    }

    // Holds what of each table of the core the attributes of a bag see. numbered: the join tells of which tuple of it a
    // row of the bag is made, since the bag may be the table's neighbour and not all of their attributes have keys: a
    // table that lies in another bag shares with this one only what that bag shares with it, which has.
    struct Parts {
        std::vector<int> tables;
        std::vector<std::vector<int>> attributes;
        std::vector<bool> numbered;
    };

    Parts parts_in(const std::vector<int>& bag) const {
        Parts parts;
        for (size_t e = 0; e < edges_.size(); e++) {
            std::vector<int> part;
            std::set_intersection(edges_[e].begin(), edges_[e].end(), bag.begin(), bag.end(), std::back_inserter(part));
            if (part.empty()) continue;
            parts.tables.push_back(core_[e]);
            parts.attributes.push_back(std::move(part));
            parts.numbered.push_back(is_within(e, bag) || apart_.count(core_[e]) > 0);
        }
        return parts;
    }

    // The tables within the bag if they have all its attributes, else all that it joins.
    std::vector<int> tables_of(const std::vector<int>& bag, const Parts& parts) const {
        std::vector<int> inside, covered;
        for (size_t e = 0; e < edges_.size(); e++) {
            if (!is_within(e, bag)) continue;
            inside.push_back(core_[e]);
            covered.insert(covered.end(), edges_[e].begin(), edges_[e].end());
        }
        std::sort(covered.begin(), covered.end());
        return std::includes(covered.begin(), covered.end(), bag.begin(), bag.end()) ? inside : parts.tables;
    }

    // relations: of the parts.
    static double agm_bound(const std::vector<int>& bag, const Parts& parts,
                            const std::vector<SortedRelation>& relations) {
        if (std::any_of(relations.begin(), relations.end(), [](const auto& relation) { return relation.rows == 0; }))
            return 0;
        const auto weight = [&](int part, const std::vector<int>&) { return log_size(relations[part].rows); };
        // Rounded down with room for the errors of the logarithms.
        return std::floor(std::exp(fractional_cover(bag, parts.attributes, weight)) * (1 + 1e-9));
    }

    Bag add_bag(std::vector<int> attributes) {
        const Parts parts = parts_in(attributes);
        const std::vector<int> order = attribute_order(parts.attributes);
        std::vector<SortedRelation> relations;
        std::vector<Buffer<RowId>> tuples; // by part and row of its table
        for (size_t p = 0; p < parts.tables.size(); p++) {
            std::vector<int> ordered;
            std::copy_if(order.begin(), order.end(), std::back_inserter(ordered), [&](int attribute) {
                return std::binary_search(parts.attributes[p].begin(), parts.attributes[p].end(), attribute);
            });
            Buffer<RowId>& of_rows = tuples.emplace_back(memory_, what_bag);
            relations.push_back(
                project_to(parts.tables[p], std::move(ordered), parts.numbered[p] ? &of_rows : nullptr));
        }
        const double bound = agm_bound(attributes, parts, relations);
        Bag bag{std::move(attributes), {}, bound};
        bag.tables = tables_of(bag.attributes, parts);
        std::vector<Buffer<RowId>> rows = append_table(bag, order, relations, parts.numbered);
        const auto number = static_cast<int>(tables_.size()) - 1;
        for (size_t p = 0; p < parts.tables.size(); p++)
            if (parts.numbered[p])
                codes_.try_emplace({parts.tables[p], number}, KeyCodes{static_cast<Key>(relations[p].rows),
                                                                       std::move(tuples[p]), std::move(rows[p])});
        return bag;
    }

    // Returns by relation that is numbered, of which of its rows each row of the bag is made.
    std::vector<Buffer<RowId>> append_table(const Bag& bag, const std::vector<int>& order,
                                            const std::vector<SortedRelation>& relations,
                                            const std::vector<bool>& numbered) {
        Table made;
        made.name = "bag of ";
        for (int number : bag.tables) made.name += (number == bag.tables.front() ? "" : ", ") + tables_[number].name;
        for (int attribute : order) made.keys.push_back({attribute, Buffer<Key>(memory_, what_bag)});
        std::vector<Buffer<RowId>> rows;
        for (size_t r = 0; r < relations.size(); r++) rows.emplace_back(memory_, what_bag);

        std::vector<Buffer<Key>*> columns;
        for (KeyColumn& key : made.keys) columns.push_back(asked_for_.count(key.attribute) ? &key.values : nullptr);
        std::vector<Buffer<RowId>*> row_columns;
        for (size_t r = 0; r < rows.size(); r++) row_columns.push_back(numbered[r] ? &rows[r] : nullptr);
        // Per row: what is written, the keys of a separator to another bag, and whether it stays.
        GenericJoin join(order, relations, context_);
        const auto unwritten = std::count(columns.begin(), columns.end(), nullptr) +
                               std::count(row_columns.begin(), row_columns.end(), nullptr);
        const uint64_t row_bytes = sizeof(Key) * (columns.size() + rows.size() - unwritten + 1) + 1;
        const uint64_t fit = std::min(max_rows, memory_.left() / row_bytes);
        const uint64_t most = std::min(max_rows, 2 * fit + 1'000); // further there is no point in counting
        made.rows = join.write(fit, most, columns, row_columns);
        if (made.rows > fit) {
            rows.clear();
            made.keys.clear();
            check_shape(made);
            refuse_memory(bag, made.rows, row_bytes, made.rows > most);
        }
        masks_.emplace_back(memory_, "the rows of a join", made.rows, uint8_t{1});
        tables_.push_back(std::move(made));
        return rows;
    }

    std::vector<std::string> names_of(const Bag& bag) const {
        std::vector<std::string> names;
        for (int number : bag.tables) names.push_back(tables_[number].name);
        return names;
    }

    [[noreturn]] void refuse_memory(const Bag& bag, uint64_t rows, uint64_t row_bytes, bool or_more) const {
        const char* const over = or_more ? "more than " : "";
        const uint64_t known = rows - or_more;
        throw Error(ErrorCode::memory_limit,
                    format("memory required is %s%" PRIu64 " kB, btml.memory_limit is %" PRIu64 " kB", over,
                           (memory_.used() + known * row_bytes + 1023) / 1024, memory_.limit() / 1024),
                    format("The memory was to hold a bag of the cyclic join, the keys of %s: it has %s%" PRIu64
                           " rows, by the "
                           "AGM bound at most %.15g.",
                           quoted_list(names_of(bag)).c_str(), over, known, bag.agm_bound),
                    "Raise btml.memory_limit, or read fewer rows of these tables.");
    }

    std::vector<Table>& tables_;
    std::vector<RowMask>& masks_;
    const std::vector<int>& core_;
    BagCodes& codes_;
    RunContext& context_;
    MemoryBudget& memory_;
    std::vector<std::vector<int>> edges_; // of the core: the attributes that two or more of its tables have, ascending
    std::vector<double> log_rows_;        // of each table of the core
    std::set<int> asked_for_;             // attributes of bags whose keys are written
    std::set<int> apart_;                 // tables of the core that lie in no bag as a whole
    std::map<std::pair<int, int>, double> distinct_values_; // logarithms, by table and attribute
};

} // namespace

CyclicPart add_bags(std::vector<Table>& tables, std::vector<RowMask>& masks, const std::vector<int>& core,
                    BagCodes& codes, RunContext& context) {
    return BagBuilder(tables, masks, core, codes, context).build();
}

} // namespace btml::relational
