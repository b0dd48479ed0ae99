#include "pg/source/partition_join.hpp"

#include "pg/bridge/guard.hpp"
#include "pg/bridge/nodes.hpp"

extern "C" {
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "utils/partcache.h"
#include "utils/rel.h"
}

namespace btml::pg {

namespace {

PartitionKey key_of(Oid table) {
    const Relation relation = table_open(table, AccessShareLock);
    const PartitionKey key = RelationGetPartitionKey(relation); // lasts as long as the relation is locked
    table_close(relation, NoLock);
    return key;
}

bool have_same_key(const PartitionKeyData* a, const PartitionKeyData* b) {
    if (a->strategy != b->strategy || a->partnatts != b->partnatts) return false;
    for (int i = 0; i < a->partnatts; i++)
        if (a->partattrs[i] == 0 || b->partattrs[i] == 0 || a->partopfamily[i] != b->partopfamily[i] ||
            a->partcollation[i] != b->partcollation[i] || a->parttyplen[i] != b->parttyplen[i] ||
            a->parttypbyval[i] != b->parttypbyval[i])
            return false;
    return true;
}

// A column of a partition key: its entry of the range table, 0 where it is none, and its number in the key.
using PlacedKey = std::pair<int, int>;

// The column of a partition key that the expression is, through the joins that give it other names.
PlacedKey key_column(const Query* query, Node* expression) {
    for (;;) {
        while (expression && IsA(expression, RelabelType))
            expression = as_node(reinterpret_cast<RelabelType*>(expression)->arg);
        if (!expression || !IsA(expression, Var)) return {0, 0};
        const auto* const var = reinterpret_cast<const Var*>(expression);
        if (var->varlevelsup != 0 || var->varattno <= 0) return {0, 0};
        const RangeTblEntry* const entry = rt_fetch(var->varno, query->rtable);
        if (entry->rtekind == RTE_JOIN) {
            expression = static_cast<Node*>(list_nth(entry->joinaliasvars, var->varattno - 1));
            continue;
        }
        if (entry->rtekind != RTE_RELATION || entry->relkind != RELKIND_PARTITIONED_TABLE) return {0, 0};
        const PartitionKeyData* const key = key_of(entry->relid);
        for (int i = 0; i < key->partnatts; i++)
            if (key->partattrs[i] == var->varattno) return {static_cast<int>(var->varno), i};
        return {0, 0};
    }
}

// An equality of one column of the partition key in two entries.
struct KeyEquality {
    int left, right, number;
};

// The part of a join that some of its tables make.
struct JoinedTables {
    List* entries;    // of int: the partitioned ones
    List* equalities; // of KeyEquality*, which hold for rows that are no null rows
    int columns;      // of the partition key
    bool are_valid;   // false: an outer join keeps rows that partitions do not have
};

// Adds the equalities among the condition's conjuncts.
void add_equalities(const Query* query, Node* condition, List** found) {
    for (Node* const conjunct : items<Node>(make_ands_implicit(reinterpret_cast<Expr*>(condition)))) {
        if (is_andclause(conjunct)) {
            for (Node* const part : items<Node>(reinterpret_cast<BoolExpr*>(conjunct)->args))
                add_equalities(query, part, found);
            continue;
        }
        if (!IsA(conjunct, OpExpr)) continue;
        const auto* const operation = reinterpret_cast<const OpExpr*>(conjunct);
        if (list_length(operation->args) != 2) continue;
        const auto [left, number] = key_column(query, static_cast<Node*>(linitial(operation->args)));
        const auto [right, of_right] = key_column(query, static_cast<Node*>(lsecond(operation->args)));
        if (left == 0 || right == 0 || number != of_right) continue;
        const PartitionKeyData* const key = key_of(rt_fetch(left, query->rtable)->relid);
        const int equal =
            key->strategy == PARTITION_STRATEGY_HASH ? int{HTEqualStrategyNumber} : int{BTEqualStrategyNumber};
        if (get_op_opfamily_strategy(operation->opno, key->partopfamily[number]) != equal ||
            (OidIsValid(key->partcollation[number]) && operation->inputcollid != key->partcollation[number]))
            continue;
        auto* const equality = allocate<KeyEquality>();
        *equality = {left, right, number};
        *found = lappend(*found, equality);
    }
}

// Says whether equalities of each of the key's columns lead from each of the tables to every other.
bool are_connected(const JoinedTables& joined) {
    for (int number = 0; number < joined.columns; number++) {
        List* reached = joined.entries ? list_make1_int(linitial_int(joined.entries)) : NIL;
        for (int before = -1; before != list_length(reached);) {
            before = list_length(reached);
            for (const KeyEquality* const equal : items<const KeyEquality>(joined.equalities)) {
                if (equal->number != number) continue;
                if (list_member_int(reached, equal->left)) reached = list_append_unique_int(reached, equal->right);
                if (list_member_int(reached, equal->right)) reached = list_append_unique_int(reached, equal->left);
            }
        }
        if (list_length(reached) != list_length(joined.entries)) return false;
    }
    return true;
}

void join(JoinedTables* joined, const JoinedTables& other) {
    joined->entries = list_concat(joined->entries, other.entries);
    joined->equalities = list_concat(joined->equalities, other.equalities);
    joined->columns = std::max(joined->columns, other.columns);
    joined->are_valid = joined->are_valid && other.are_valid;
}

JoinedTables joined_tables(const Query* query, Node* node);

// A row that an outer join keeps is in no pair that its condition asks for: what is equal in it must be so by itself,
// and a condition tells only of one side and the other.
JoinedTables outer_joined_tables(const Query* query, const JoinExpr* outer) {
    JoinedTables joined = joined_tables(query, outer->larg);
    const JoinedTables right = joined_tables(query, outer->rarg);
    List* between = NIL;
    add_equalities(query, outer->quals, &between);
    const bool are_valid = are_connected(joined) && are_connected(right);
    const List* const left_entries = list_copy(joined.entries);
    join(&joined, right);
    joined.are_valid = joined.are_valid && are_valid;
    for (KeyEquality* const equal : items<KeyEquality>(between))
        if (list_member_int(left_entries, equal->left) != list_member_int(left_entries, equal->right))
            joined.equalities = lappend(joined.equalities, equal);
    return joined;
}

JoinedTables joined_tables(const Query* query, Node* node) {
    JoinedTables joined{NIL, NIL, 0, true};
    if (IsA(node, RangeTblRef)) {
        const int number = reinterpret_cast<const RangeTblRef*>(node)->rtindex;
        const RangeTblEntry* const entry = rt_fetch(number, query->rtable);
        if (entry->rtekind != RTE_RELATION || entry->relkind != RELKIND_PARTITIONED_TABLE) return joined;
        joined.entries = list_make1_int(number);
        joined.columns = key_of(entry->relid)->partnatts;
    } else if (IsA(node, FromExpr)) {
        const auto* const from = reinterpret_cast<const FromExpr*>(node);
        for (Node* const item : items<Node>(from->fromlist)) join(&joined, joined_tables(query, item));
        add_equalities(query, from->quals, &joined.equalities);
    } else if (const auto* const expression = reinterpret_cast<const JoinExpr*>(node);
               expression->jointype != JOIN_INNER) {
        joined = outer_joined_tables(query, expression);
    } else {
        joined = joined_tables(query, expression->larg);
        join(&joined, joined_tables(query, expression->rarg));
        add_equalities(query, expression->quals, &joined.equalities);
    }
    return joined;
}

// The query among these that has partitioned tables itself.
bool find_level(Node* node, void* found) {
    if (!node) return false;
    if (!IsA(node, Query)) return btml_compat_walk(node, find_level, found);
    auto* const query = reinterpret_cast<Query*>(node);
    for (const RangeTblEntry* const entry : items<const RangeTblEntry>(query->rtable)) {
        if (entry->rtekind != RTE_RELATION || entry->relkind != RELKIND_PARTITIONED_TABLE) continue;
        *static_cast<const Query**>(found) = query;
        return true;
    }
    return btml_compat_walk_query(query, find_level, found, 0);
}

} // namespace

std::vector<Oid> direct_partitions(Oid table) {
    const List* const all = pg_call([=] {
        const Relation relation = table_open(table, AccessShareLock);
        const PartitionDescData* const partitions = RelationGetPartitionDesc(relation, true);
        List* oids = NIL;
        for (int i = 0; i < partitions->nparts; i++) {
            LockRelationOid(partitions->oids[i], AccessShareLock);
            oids = lappend_oid(oids, partitions->oids[i]);
        }
        table_close(relation, NoLock);
        return oids;
    });
    std::vector<Oid> partitions;
    for (int i = 0; i < list_length(all); i++) partitions.push_back(list_nth_oid(all, i));
    return partitions;
}

bool are_partitioned_alike(Oid a, Oid b) {
    if (a == b) return true;
    return pg_call([=] {
        const PartitionKeyData* const key = key_of(a);
        if (!have_same_key(key, key_of(b))) return false;
        const Relation first = table_open(a, AccessShareLock), second = table_open(b, AccessShareLock);
        const PartitionDescData* const x = RelationGetPartitionDesc(first, true);
        const PartitionDescData* const y = RelationGetPartitionDesc(second, true);
        const bool alike = x->nparts == y->nparts &&
                           (x->nparts == 0 || partition_bounds_equal(key->partnatts, key->parttyplen, key->parttypbyval,
                                                                     x->boundinfo, y->boundinfo));
        table_close(second, NoLock);
        table_close(first, NoLock);
        return alike;
    });
}

bool joins_by_partition(const Query* query, size_t tables) {
    return pg_call([=] {
        const Query* level = nullptr;
        find_level(as_node(const_cast<Query*>(query)), &level);
        if (!level) return false;
        const JoinedTables joined = joined_tables(level, as_node(level->jointree));
        return static_cast<size_t>(list_length(joined.entries)) == tables && joined.are_valid && are_connected(joined);
    });
}

} // namespace btml::pg
