#include "core/features/found_relations.hpp"

namespace btml::features {

namespace {

[[noreturn]] void refuse_relation(const RelationRequest& named, const std::string& fault, const std::string& hint) {
    throw Error(ErrorCode::invalid_argument, format("relation \"%s\" %s", named.name.c_str(), fault.c_str()), "", hint);
}

// Adds one relation as it is named.
class NamedRelation {
  public:
    NamedRelation(FoundRelations& relations, const RelationRequest& named) : relations_(relations), named_(named) {}

    void add() {
        if (named_.left_out)
            refuse_relation(named_, "is false beside relations with a table and a key",
                            "They are all there is: leave it away.");
        if (named_.table < 0)
            refuse_relation(named_, "has no \"table\"",
                            "Where one relation has a table and a key, all must: they replace what foreign keys find.");
        if (relations_.has_name(named_.name))
            refuse_relation(named_, "has a name that is taken", "Give it another name.");
        relations_.take_name(named_.name);
        const CatalogueTable& of = relations_.table(named_.table);
        Relation relation{.name = named_.name, .of = parent(), .key = named_.key};
        for (const KeyPair& pair : relation.key) check_key_column(relation, pair);
        relation.unique = is_unique(of, relation.key);
        if (named_.last && relation.unique)
            refuse_relation(named_, "has \"last\", and one row a key", "Take the aggregate \"last\" of its columns.");
        relation.last = named_.last;
        set_time(of, relation);
        require_columns(of, named_.name, named_.columns);
        relations_.add(std::move(relation), {.table = named_.table, .columns = named_.columns});
    }

  private:
    // The number of the relation that it is of.
    int parent() const {
        if (named_.of.empty()) return source_number;
        std::vector<std::string> before;
        for (const Relation& relation : relations_.plan().relations) {
            if (relation.name == named_.of) return static_cast<int>(before.size());
            before.push_back(relation.name);
        }
        refuse_relation(named_, "is of \"" + named_.of + "\", which is no relation before it",
                        before.empty() ? "" : "Relations before it are " + quoted_list(before) + ".");
    }

    void set_time(const CatalogueTable& of, Relation& relation) const {
        switch (relations_.set_time(of, named_.time, relation)) {
        case FoundRelations::TimeFault::none:
            return;
        case FoundRelations::TimeFault::many_times:
            refuse_relation(named_, "has several times",
                            "Name the column that says since when a row is known, as in \"time\": \"at\".");
        case FoundRelations::TimeFault::unread:
            refuse_relation(named_, "has a time that you may not read",
                            "Where its rows count whole, say so by \"time\": null.");
        case FoundRelations::TimeFault::other_zone:
            refuse_zone(relation);
        }
    }

    [[noreturn]] void refuse_zone(const Relation& relation) const {
        const CandidateRequest& request = relations_.request();
        throw Error(ErrorCode::wrong_type,
                    format("as_of \"%s\" has type %s, and time \"%s\" of relation \"%s\" has type %s",
                           request.as_of.c_str(), time_type_names[static_cast<size_t>(request.as_of_type)],
                           relation.time.c_str(), relation.name.c_str(),
                           time_type_names[static_cast<size_t>(relation.time_type)]),
                    "", "Cast as_of in the source, or the time in a view.");
    }

    // Refuses a text that is to equal a number, and the like.
    void check_key_type(const KeyPair& pair, std::optional<ColumnType> of_type) const {
        const std::optional<ColumnType> type = relations_.table(named_.table).find(pair.column)->type;
        if (!type || !of_type || *type == *of_type) return;
        throw Error(ErrorCode::wrong_type,
                    format("key \"%s\" of relation \"%s\" is a %s, \"%s\" is a %s", pair.column.c_str(),
                           named_.name.c_str(), column_type_names[static_cast<size_t>(*type)], pair.of_column.c_str(),
                           column_type_names[static_cast<size_t>(*of_type)]),
                    "", "Cast one of them, in the source or in a view.");
    }

    void check_key_column(const Relation& relation, const KeyPair& pair) const {
        if (!relations_.table(named_.table).find(pair.column))
            refuse_column(relations_.table(named_.table), named_.name, pair.column);
        if (relation.of != source_number) {
            const TableColumn* const column = relations_.table_of(relation.of).find(pair.of_column);
            if (!column) refuse_column(relations_.table_of(relation.of), named_.of, pair.of_column);
            return check_key_type(pair, column->type);
        }
        std::vector<std::string> names;
        for (const SourceColumn& column : relations_.request().source) {
            names.push_back(column.name);
            if (column.name == pair.of_column) return check_key_type(pair, column.type);
        }
        const std::string nearest = nearest_name(pair.of_column, names);
        throw Error(ErrorCode::undefined_column,
                    format("source has no column \"%s\", the key of relation \"%s\"", pair.of_column.c_str(),
                           named_.name.c_str()),
                    "", nearest.empty() ? "" : format("Perhaps you meant \"%s\".", nearest.c_str()));
    }

    FoundRelations& relations_;
    const RelationRequest& named_;
};

} // namespace

void add_named_relations(FoundRelations& relations) {
    for (const RelationRequest& named : relations.request().relations) NamedRelation(relations, named).add();
}

} // namespace btml::features
