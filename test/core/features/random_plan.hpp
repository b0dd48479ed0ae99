// Plans of features that are valid, with any names in them.
#pragma once

#include "core/features/plan.hpp"

#include <functional>
#include <random>

namespace btml::features::test {

class RandomPlan {
  public:
    // new_name: gives a name that it has not given before.
    RandomPlan(unsigned seed, std::function<std::string()> new_name) : random_(seed), new_name_(std::move(new_name)) {}

    Plan make() {
        if (below(4) > 0) plan_.as_of = new_name_();
        plan_.inclusive = below(2) == 0;
        is_zoned_ = below(2) == 0;
        const int relations = 1 + below(7), features = below(40);
        for (int i = 0; i < relations; i++) add_relation(i);
        for (int i = 0; i < features; i++) add_feature();
        plan_.check();
        return plan_;
    }

    TimeType as_of_type() const { return is_zoned_ ? TimeType::timestamptz : TimeType::timestamp; }
    int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  private:
    void add_relation(int number) {
        Relation relation{.name = new_name_(), .schema = below(5) == 0 ? "" : new_name_(), .table = new_name_()};
        relation.of = below(number + 1) - 1;
        for (int pairs = 1 + below(3); pairs > 0; pairs--) relation.key.push_back({new_name_(), new_name_()});
        const bool of_many = relation.of != source_number && plan_.rows_of(relation.of) != source_number;
        relation.unique = below(3) == 0;
        relation.last = !relation.unique && of_many && (plan_.at(relation.of).unique || below(2) == 0);
        if (below(3) > 0) {
            relation.time = new_name_();
            relation.time_type = is_zoned_ ? TimeType::timestamptz : static_cast<TimeType>(1 + below(2));
        }
        plan_.relations.push_back(std::move(relation));
    }

    void add_feature() {
        Definition feature{.name = new_name_(),
                           .relation = below(static_cast<int>(plan_.relations.size())),
                           .aggregate = static_cast<Aggregate>(below(std::size(aggregates)))};
        const int rows = plan_.rows_of(feature.relation);
        if (rows == source_number) feature.aggregate = below(2) ? Aggregate::value : Aggregate::years_since;
        const AggregateFacts& facts = facts_of(feature.aggregate);
        if (rows != source_number && is_of_one_row(feature.aggregate)) return;
        if (feature.aggregate == Aggregate::years_since && plan_.as_of.empty()) return;
        const bool has_time = rows != source_number && plan_.has_time(rows);
        if (facts.timed && !has_time) return;
        feature.type = static_cast<ColumnType>(below(4));
        if (facts.types == 0)
            feature.type = ColumnType::number;
        else if ((facts.types & type_bit(feature.type)) == 0)
            return;
        else
            feature.column = new_name_();
        const bool compares = feature.aggregate == Aggregate::share || feature.aggregate == Aggregate::matches;
        if (compares && feature.type == ColumnType::text) feature.value = new_name_();
        if (feature.aggregate == Aggregate::matches && feature.type == ColumnType::boolean) feature.value = "false";
        const bool has_total = feature.type == ColumnType::number && !feature.column.empty() &&
                               feature.aggregate != Aggregate::distinct && feature.aggregate != Aggregate::years_since;
        const bool has_own_time = rows == feature.relation && !plan_.at(rows).time.empty();
        if (has_total && below(2) == 0)
            feature.total = new_name_();
        else
            feature.relative = has_total && has_own_time && below(2) == 0;
        if (facts.windowed && has_time && !plan_.as_of.empty() && below(2) == 0) feature.window = new_name_();
        if (below(2) == 0) feature.gain = below(1000) / 7.0;
        plan_.features.push_back(std::move(feature));
    }

    std::mt19937 random_;
    std::function<std::string()> new_name_;
    Plan plan_;
    bool is_zoned_ = false; // whether times have a zone
};

// Gives "<prefix>1", "<prefix>2" …
inline std::function<std::string()> numbered_names(const std::string& prefix) {
    return [prefix, count = 0]() mutable { return prefix + std::to_string(++count); };
}

// Gives names that try to be more than names; pieces: what they are made of.
inline std::function<std::string()> hostile_names(unsigned seed) {
    return [random = std::mt19937(seed), count = 0]() mutable {
        static const std::string pieces[] = {"\"",
                                             "'",
                                             "\\",
                                             "\n",
                                             "\r",
                                             "\t",
                                             "--",
                                             "/*",
                                             "*/",
                                             ";",
                                             "$$",
                                             "$1",
                                             "\x80",
                                             "\xff",
                                             "\xc3",
                                             "Ω",
                                             " ",
                                             ".",
                                             "::text",
                                             "E'",
                                             "U&\"",
                                             "(",
                                             ")",
                                             ",",
                                             "DROP TABLE customer",
                                             "source",
                                             "prediction",
                                             "select",
                                             "\x7f",
                                             "\x01",
                                             "{}",
                                             "\\'",
                                             "\\\"",
                                             "\"\"",
                                             "''",
                                             std::string(300, 'n')};
        std::string name;
        for (unsigned left = random() % 6; left > 0; left--) name += pieces[random() % std::size(pieces)];
        name = name.substr(0, 40) + std::to_string(++count) +
               (random() % 2 == 0 ? pieces[random() % std::size(pieces)] : "");
        return name.substr(0, max_name_bytes);
    };
}

inline std::string json_of(const Plan& plan) {
    QuietContext context;
    const Buffer<char> json = to_json(plan, context);
    return {json.data(), json.size()};
}

} // namespace btml::features::test
