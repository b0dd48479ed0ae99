// Analyses the text of a source into a join: which base relations, joined by which keys, and which output column comes
// from where. Everything here is plain data in the current memory context, made by PostgreSQL's own parser, analyser,
// rewriter and query pull-up; no object has a destructor, so all of it runs inside one pg_call.
#pragma once

#include "pg/source/source_parameters.hpp"

#include <string>
#include <tuple>

namespace btml::pg {

// How values of a join key are compared.
enum class KeyKind {
    integer,  // int2, int4, int8: one family, compared as int64
    real,     // float4, float8: one family, compared as double
    by_value, // one type passed by value whose equality is that of its bits: date, timestamp, boolean, enum, oid …
    bytes, // one family whose equality is that of the bytes: text, varchar, name (deterministic collation); uuid, bytea
    generic, // any other type with a hash function: its own hash and equality
};

constexpr KeyKind last_of(KeyKind) {
    return KeyKind::generic;
}

struct KeyType {
    KeyKind kind;
    Oid type; // text stands for its family
    Oid collation;

    template <class Self>
    static auto fields(Self& self) {
        return std::tie(self.kind, self.type, self.collation);
    }
    // Tells whether values of both are equal in the same sense.
    bool compares_like(const KeyType& other) const {
        if (kind != other.kind) return false;
        return kind == KeyKind::integer || kind == KeyKind::real ||
               (type == other.type && collation == other.collation);
    }
};

// How an expression is shown to people. It is not deparsed unless it is: that takes time and can fail.
struct SourceText {
    const char* fixed; // null: the SQL text of the expression
    Node* expression;  // over this one table, which is number 1
    Oid table;
    const char* alias;
};

const char* text_of(const SourceText* text);

struct SourceKey {
    Node* expression;
    KeyType type;
    int attribute; // join attribute; -1: key of a left join
};

// A part of the source that PostgreSQL runs as one query. One table, or the smallest sub-query that could not be
// factorised further.
struct SourceRelation {
    const char* name;
    const char* reason; // why it is more than one table; null for a single base relation
    Query* query;       // without a target list: the reader adds the columns it wants
    List* keys;         // of SourceKey*
    List* filters;      // of SourceText*
    Relids kept_joins;  // outer joins inside the query (range table indexes)
    bool whole;         // the source as it stands: the query keeps its own target list, output i is its column i
};

struct SourceLeftJoin {
    int left, right;
    List* left_keys;  // of SourceKey*
    List* right_keys; // of SourceKey*, paired with left_keys
    List* names;      // of the right keys (SourceText*)
};

struct SourceOutput {
    const char* name;
    Oid type;
    int32 typmod;
    Oid collation;
    int relation;
    Node* expression; // over the relation's columns; null for a whole source
    Node* null_row;   // what it is in a row without a match (an expression without columns); null: NULL
};

struct SourceAnalysis {
    const char* text; // SQL of the SELECT that was analysed, without semicolons and parameters; it may end in a comment
    Query* query;     // the same after rewriting; not to be changed
    List* relations;  // of SourceRelation*
    List* left_joins; // of SourceLeftJoin*
    List* outputs;    // of SourceOutput*
    List* attributes; // names (SourceText*), by attribute number
};

// Errors: PostgreSQL's own for what it cannot parse, find or permit; SYNTAX_ERROR or FEATURE_NOT_SUPPORTED when the
// source, which errors call `name`, is not one table, view or SELECT; UNDEFINED_PARAMETER for a parameter without a
// value. args: as of GivenSource. as_one_query: nothing is factorised.
SourceAnalysis* analyse_source(const char* source, List* args, bool as_one_query, const char* name);

// Marks the parameters that a source has, of so many. Returns false for a source that its analysis will refuse: it is
// no single SELECT, or has a parameter without a value.
bool mark_parameters(const char* source, bool* is_used, int values);

// For an error's context callback: has the error point into this text, not into the calling statement. Returns false
// where it points nowhere.
bool point_into(const char* sql);

// The query of a SELECT, after rewriting. It makes its own pg_call. Errors as of analyse_source, but for names.
Query* parsed_query(const std::string& sql);

// Writes each WITH query in the place of its references, where that means the same; may ereport.
void expand_with_queries(Query* query);

// Tells whether values of this type can be join keys, and how: not without a hash function or with a nondeterministic
// collation.
bool key_type(Oid type, Oid collation, KeyType* result);

} // namespace btml::pg
