#include "pg/planner/conditions.hpp"
#include "pg/planner/factor_type.hpp"

extern "C" {
#include "access/stratnum.h"
}

namespace btml::pg::planner {

using relational::KeyOrder;

namespace {

// The order that the operator means by the type's own comparison; `equal` for another operator.
KeyOrder order_of(Oid operator_, Oid type) {
    const TypeCacheEntry* const entry = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY);
    switch (get_op_opfamily_strategy(operator_, entry->btree_opf)) {
    case BTLessStrategyNumber:
        return KeyOrder::less;
    case BTLessEqualStrategyNumber:
        return KeyOrder::less_equal;
    case BTGreaterStrategyNumber:
        return KeyOrder::greater;
    case BTGreaterEqualStrategyNumber:
        return KeyOrder::greater_equal;
    default:
        return KeyOrder::equal;
    }
}

bool is_held_in_order(Oid type) {
    const FactorType* const known = factor_type(getBaseType(type));
    return known && known->held == relational::StreamedType::integer;
}

// The type's family of operators has an equality, by which keys are known.
List* families_of(Oid type) {
    return list_make1_oid(lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf);
}

} // namespace

KeyOrder reversed(KeyOrder order) {
    switch (order) {
    case KeyOrder::less:
        return KeyOrder::greater;
    case KeyOrder::less_equal:
        return KeyOrder::greater_equal;
    case KeyOrder::greater:
        return KeyOrder::less;
    case KeyOrder::greater_equal:
        return KeyOrder::less_equal;
    default:
        return KeyOrder::equal;
    }
}

bool order_rows(JoinShape* join, RestrictInfo* condition) {
    Expr *left = nullptr, *right = nullptr;
    if (!join->joined_first->may_compare || !take_pair(join, condition, &left, &right)) return false;
    const Oid type = exprType(as_node(left));
    const KeyOrder order = order_of(as<OpExpr>(condition->clause)->opno, type);
    if (order == KeyOrder::equal || !is_held_in_order(type)) return false;
    Attribute* const attribute = add_pair(join, condition, left, right, families_of(type));
    if (!attribute) return false;
    name_pair(join->root, left, get_opname(as<OpExpr>(condition->clause)->opno), right, attribute);
    attribute->order = order;
    attribute->ordered = join->table_of(join->relids(as_node(left)));
    join->has_orders = true;
    return true;
}

} // namespace btml::pg::planner
