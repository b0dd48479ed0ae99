#include "pg/planner/skew.hpp"

extern "C" {
#include "catalog/pg_collation_d.h"
#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
}

#include <algorithm>
#include <cmath>

namespace btml::pg::planner {

namespace {

// Values beyond the most common ones add little, and planning is to stay short.
constexpr int max_common_values = 100;
// Takes the values that make most rows first, and skips them until their chances of being there add up to this:
// conditions that leave few rows seldom leave a given value.
constexpr double min_chance = 0.25;

struct CommonValue {
    uint32 hash; // by the type's own hash function: equal values of the types of one operator family have the same
    double frequency;

    friend bool operator<(const CommonValue& a, const CommonValue& b) { return a.hash < b.hash; }
};

// Holds how a key is distributed in its table.
struct KeyValues {
    CommonValue* common; // by hash
    int count;
    double present;  // the part of the rows where the key is not NULL
    double distinct; // how many values there are
    double other;    // the mean frequency of the values that are not common
    double rows;     // of the table, as its conditions leave them

    const CommonValue* find(uint32 hash) const {
        const CommonValue *const begin = common, *const end = common + count;
        const CommonValue* const found = std::lower_bound(begin, end, CommonValue{hash, 0});
        return found != end && found->hash == hash ? found : nullptr;
    }
    double frequency(uint32 hash) const {
        const CommonValue* const found = find(hash);
        return found ? found->frequency : other;
    }
};

void read_common_values(VariableStatData* column, KeyValues* values) {
    TypeCacheEntry* const type = lookup_type_cache(column->atttype, TYPECACHE_HASH_PROC_FINFO);
    // Keys have deterministic collations, under all of which a text has one hash.
    const Oid collation = type_is_collatable(column->atttype) ? C_COLLATION_OID : InvalidOid;
    AttStatsSlot slot;
    if (!OidIsValid(type->hash_proc) || !statistic_proc_security_check(column, type->hash_proc)) return;
    if (!get_attstatsslot(&slot, column->statsTuple, STATISTIC_KIND_MCV, InvalidOid,
                          ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS))
        return;
    values->count = std::min(slot.nvalues, max_common_values);
    values->common = static_cast<CommonValue*>(palloc(sizeof(CommonValue) * values->count));
    for (int i = 0; i < values->count; i++) {
        const Datum hash = FunctionCall1Coll(&type->hash_proc_finfo, collation, slot.values[i]);
        values->common[i] = {DatumGetUInt32(hash), slot.numbers[i]};
    }
    free_attstatsslot(&slot);
    std::sort(values->common, values->common + values->count);
}

// Tells whether a condition of the table's own says which values of the key it has, which statistics do not know.
bool is_restricted(const TableShape& table, const Expr* key) {
    Bitmapset *of_key = nullptr, *of_conditions = nullptr;
    if (table.relation->reloptkind != RELOPT_BASEREL) return false;
    pull_varattnos(as_node(const_cast<Expr*>(key)), table.relation->relid, &of_key);
    for (const RestrictInfo* const condition : items<const RestrictInfo>(table.relation->baserestrictinfo))
        pull_varattnos(as_node(condition->clause), table.relation->relid, &of_conditions);
    return bms_overlap(of_key, of_conditions);
}

// Returns null where nothing is known of the key.
const KeyValues* values_of(PlannerInfo* root, const TableShape& table, const TableKey& key) {
    if (is_restricted(table, key.expression)) return nullptr;
    VariableStatData column;
    examine_variable(root, as_node(key.expression), 0, &column);
    KeyValues* values = nullptr;
    if (HeapTupleIsValid(column.statsTuple)) {
        bool is_default = false;
        values = allocate<KeyValues>();
        values->present = 1 - as<FormData_pg_statistic>(GETSTRUCT(column.statsTuple))->stanullfrac;
        values->distinct = get_variable_numdistinct(&column, &is_default);
        values->rows = table.relation->rows;
        read_common_values(&column, values);
        double rest = values->present;
        for (int i = 0; i < values->count; i++) rest -= values->common[i].frequency;
        values->other = std::max(0.0, rest) / std::max(1.0, values->distinct - values->count);
    }
    ReleaseVariableStats(column);
    return values;
}

// A value that is common in one of several tables.
struct SharedValue {
    uint32 hash;
    double product; // of its frequencies
    double chance;  // that all tables have a row of it

    double product_if_there() const { return product / chance; }
};

SharedValue shared_value(const KeyValues* const* keys, int count, uint32 hash) {
    SharedValue value = {hash, 1, 1};
    for (int t = 0; t < count; t++) {
        const double frequency = keys[t]->frequency(hash);
        value.product *= frequency;
        value.chance *= std::min(1.0, frequency * keys[t]->rows);
    }
    return value;
}

// Gives the values that are common in one of the tables and may be in all, those first that would make most rows.
int find_shared_values(const KeyValues* const* keys, int count, SharedValue* values) {
    int found = 0;
    for (int t = 0; t < count; t++)
        for (int i = 0; i < keys[t]->count; i++) {
            const uint32 hash = keys[t]->common[i].hash;
            bool is_known = false;
            for (int before = 0; before < t; before++) is_known = is_known || keys[before]->find(hash);
            if (is_known) continue;
            values[found] = shared_value(keys, count, hash);
            if (values[found].chance > 0) found++;
        }
    std::sort(values, values + found, [](const SharedValue& a, const SharedValue& b) {
        return std::pair(a.product_if_there(), a.hash) > std::pair(b.product_if_there(), b.hash);
    });
    return found;
}

// Returns the part of the product of `count` tables in which the key has one value: the sum of the products of its
// frequencies. All other values are taken to be equally frequent. The table with the fewest of them has only values
// that the others have, too.
double selectivity(const KeyValues* const* keys, int count) {
    auto* const rest = static_cast<double*>(palloc(sizeof(double) * count));
    auto* const values = static_cast<SharedValue*>(palloc(sizeof(SharedValue) * count * max_common_values));
    for (int t = 0; t < count; t++) rest[t] = keys[t]->present;
    double same = 0, chance = 0;
    int counted = 0;
    for (const SharedValue *value = values, *end = values + find_shared_values(keys, count, values); value != end;
         value++) {
        chance += value->chance;
        if (chance < min_chance) continue;
        same += value->product;
        counted++;
        for (int t = 0; t < count; t++) rest[t] = std::max(0.0, rest[t] - keys[t]->frequency(value->hash));
    }
    double others = 1, fewest = 0;
    for (int t = 0; t < count; t++) {
        const double distinct = std::max(1.0, keys[t]->distinct - counted);
        others *= rest[t] / distinct;
        fewest = t == 0 ? distinct : std::min(fewest, distinct);
    }
    return same + others * fewest;
}

// The keys of a join, read once for all joins of its plan.
struct Skew {
    const JoinShape& join;
    const KeyValues** known; // by table and attribute

    int attributes() const { return list_length(join.attributes); }
    double rows(Relids relids, double estimated) const;
    double added_cost(const Path* path) const;
};

// Returns how many rows the join of these relations has: the geometric mean of what the common values say and what
// PostgreSQL estimates, since what a condition leaves may go with the key or not. Where a part is not known, it is the
// latter alone.
double Skew::rows(Relids relids, double estimated) const {
    double product = 1;
    auto** const keys = static_cast<const KeyValues**>(palloc(sizeof(KeyValues*) * join.table_count));
    const auto joins = [&](const TableShape& table) { return bms_overlap(table.relids, relids); };
    for (int t = 0; t < join.table_count; t++) {
        const TableShape& table = join.tables[t];
        if (!joins(table)) continue;
        if (!bms_is_subset(table.relids, relids) || table.join != relational::StreamedJoin::inner) return estimated;
        product *= table.relation->rows;
    }
    for (int attribute = 0; attribute < attributes(); attribute++) {
        int count = 0;
        for (int t = 0; t < join.table_count; t++) {
            if (!joins(join.tables[t]) || !join.key(t, attribute)) continue;
            keys[count] = known[t * attributes() + attribute];
            if (!keys[count++]) return estimated;
        }
        if (count > 1) product *= selectivity(keys, count);
    }
    return product > estimated ? std::sqrt(product * estimated) : estimated;
}

// Returns how many rows an index finds for one that the path gives: other conditions leave some of them out.
double found_per_row(const Path* path) {
    while (const Path* const input = below(path)) path = input;
    const RelOptInfo* const relation = path->parent;
    if (!path->param_info || relation->reloptkind != RELOPT_BASEREL || relation->rows < 1) return 1;
    return std::max(1.0, relation->tuples / relation->rows);
}

double Skew::added_cost(const Path* path) const {
    if (!IsA(path, NestPath) && !IsA(path, MergePath) && !IsA(path, HashPath)) {
        const Path* const input = below(path);
        return input ? added_cost(input) : 0;
    }
    const auto* const joined = as<JoinPath>(path);
    const RelOptInfo* const relation = path->parent;
    const Relids relids = btml_compat_without_outer_joins(join.root, relation->relids);
    const double more = rows(relids, relation->rows) - relation->rows;
    return more * cpu_tuple_cost * found_per_row(joined->innerjoinpath) + added_cost(joined->outerjoinpath) +
           added_cost(joined->innerjoinpath);
}

} // namespace

double skewed_cost(const JoinShape& join, const Path* path) {
    Skew skew = {join, nullptr};
    const int attributes = skew.attributes();
    skew.known = static_cast<const KeyValues**>(palloc0(sizeof(KeyValues*) * join.table_count * (attributes + 1)));
    for (int t = 0; t < join.table_count; t++)
        for (const TableKey* const key : items<const TableKey>(join.tables[t].keys))
            if (items<const Attribute>(join.attributes)[key->attribute]->order == relational::KeyOrder::equal)
                skew.known[t * attributes + key->attribute] = values_of(join.root, join.tables[t], *key);
    return path->total_cost + skew.added_cost(path);
}

} // namespace btml::pg::planner
