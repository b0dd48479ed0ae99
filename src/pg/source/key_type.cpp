#include "pg/source/analysis.hpp"

namespace btml::pg {

bool key_type(Oid type, Oid collation, KeyType* result) {
    type = getBaseType(type);
    *result = {KeyKind::generic, type, collation};
    switch (type) {
    case INT2OID:
    case INT4OID:
    case INT8OID:
        result->kind = KeyKind::integer;
        return true;
    case FLOAT4OID:
    case FLOAT8OID:
        result->kind = KeyKind::real;
        return true;
    case BOOLOID:
    case CHAROID:
    case DATEOID:
    case TIMEOID:
    case TIMESTAMPOID:
    case TIMESTAMPTZOID:
    case OIDOID:
        result->kind = KeyKind::by_value;
        return true;
    case TEXTOID:
    case VARCHAROID:
    case NAMEOID:
        if (OidIsValid(collation) && !get_collation_isdeterministic(collation)) return false;
        *result = {KeyKind::bytes, TEXTOID, InvalidOid};
        return true;
    case UUIDOID:
    case BYTEAOID:
        result->kind = KeyKind::bytes;
        return true;
    default:
        break;
    }
    if (type_is_enum(type)) {
        result->kind = KeyKind::by_value;
        return true;
    }
    if (OidIsValid(collation) && !get_collation_isdeterministic(collation)) return false;
    const TypeCacheEntry* const entry = lookup_type_cache(type, TYPECACHE_HASH_PROC | TYPECACHE_EQ_OPR);
    return OidIsValid(entry->hash_proc) && OidIsValid(entry->eq_opr);
}

} // namespace btml::pg
