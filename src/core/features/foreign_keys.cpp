#include "core/features/found_relations.hpp"

#include <algorithm>

namespace btml::features {

namespace {

class ForeignKeySearch {
  public:
    explicit ForeignKeySearch(FoundRelations& relations) : relations_(relations), request_(relations.request()) {}

    // The nearest relations come first, and so have the same names whatever max_depth is.
    void run() {
        for (depth_ = 0; depth_ <= request_.max_depth; depth_++) {
            enter();
            for (int i = 0; i < relations_.count(); i++) {
                for (size_t key = 0; key < request_.foreign_keys.size(); key++) step(i, static_cast<int>(key));
                step_by_last(i);
            }
        }
        check_words();
    }

  private:
    const Relation& relation_at(int relation) const { return relations_.plan().at(relation); }

    // Refuses words on relations that there are not.
    void check_words() const {
        for (const RelationRequest& word : request_.relations) {
            if (std::find(offered_.begin(), offered_.end(), word.name) != offered_.end()) continue;
            const std::string nearest = nearest_name(word.name, offered_);
            throw Error(ErrorCode::invalid_argument,
                        format("relation \"%s\" is none that foreign keys lead to", word.name.c_str()),
                        offered_.empty() ? "" : "They lead to " + quoted_list(offered_) + ".",
                        nearest.empty() ? "" : format("Perhaps you meant \"%s\".", nearest.c_str()));
        }
    }

    // The source's column that is this column of a table.
    const SourceColumn* source_column(int table_number, const std::string& column) const {
        for (const SourceColumn& candidate : request_.source)
            if (candidate.table == table_number && candidate.table_column == column) return &candidate;
        return nullptr;
    }

    // The source's columns in the place of those of one side of a foreign key, if it has all.
    std::optional<std::vector<KeyPair>> source_key(const ForeignKey& key, int table_number, std::string KeyPair::*side,
                                                   std::string KeyPair::*other) const {
        std::vector<KeyPair> pairs;
        for (const KeyPair& pair : key.pairs) {
            const SourceColumn* const column = source_column(table_number, pair.*side);
            if (!column) return {};
            pairs.push_back({pair.*other, column->name});
        }
        return pairs;
    }

    // Goes on from the last of many rows to what it refers to.
    void step_by_last(int relation) {
        if (relation_at(relation).unique || !relations_.plan().has_time(relation)) return;
        const FoundRelation from = relations_.at(relation);
        for (size_t i = 0; i < request_.foreign_keys.size(); i++)
            if (const ForeignKey& up = request_.foreign_keys[i];
                up.table == from.table && static_cast<int>(i) != from.by)
                add_children_of_last(relation, up, from.depth + 1);
    }

    // Adds the tables whose keys the source's columns are, and the rows that refer to the source's own table.
    void enter() {
        for (size_t i = 0; i < request_.foreign_keys.size(); i++) {
            const ForeignKey& key = request_.foreign_keys[i];
            if (const auto pairs = source_key(key, key.table, &KeyPair::column, &KeyPair::of_column))
                add_found({.of = source_number, .key = *pairs, .unique = true},
                          {.table = key.to, .by = static_cast<int>(i)});
            if (const auto pairs = source_key(key, key.to, &KeyPair::of_column, &KeyPair::column))
                add_found({.of = source_number, .key = *pairs},
                          {.table = key.table, .depth = 1, .by = static_cast<int>(i)});
        }
    }

    void step(int relation, int number) {
        const ForeignKey& key = request_.foreign_keys[static_cast<size_t>(number)];
        const FoundRelation from = relations_.at(relation);
        const bool is_unique = relation_at(relation).unique;
        const bool of_source = relations_.plan().rows_of(relation) == source_number;
        // The way back to the one row that many rows were reached from.
        const bool is_back_up = from.by == number && !is_unique, is_back_down = from.by == number && is_unique;
        if (key.table == from.table && !is_back_up) {
            std::vector<KeyPair> pairs;
            for (const KeyPair& pair : key.pairs) pairs.push_back({pair.of_column, pair.column});
            add_found({.of = relation, .key = std::move(pairs), .unique = true},
                      {.table = key.to, .depth = from.depth, .ups = from.ups + 1, .by = number});
        }
        if (key.to != from.table || (is_back_down && !of_source)) return;
        if (!is_unique || of_source)
            add_found(child_of(relation, key), {.table = key.table, .depth = from.depth + 1, .by = number});
    }

    // Rows that refer to a relation; where that is joined to the source by the same columns, those of the source.
    Relation child_of(int relation, const ForeignKey& key) const {
        const Relation& parent = relation_at(relation);
        Relation child{.of = relation, .key = key.pairs};
        if (!parent.unique || parent.of != source_number) return child;
        for (KeyPair& pair : child.key) {
            const auto same = std::find_if(parent.key.begin(), parent.key.end(),
                                           [&](const KeyPair& up) { return up.column == pair.of_column; });
            if (same == parent.key.end()) return {.of = relation, .key = key.pairs};
            pair.of_column = same->of_column;
        }
        child.of = source_number;
        return child;
    }

    // Adds rows that refer to what the last row of a relation refers to.
    void add_children_of_last(int relation, const ForeignKey& up, int depth) {
        for (size_t i = 0; i < request_.foreign_keys.size(); i++) {
            const ForeignKey& down = request_.foreign_keys[i];
            if (down.to != up.to || down.pairs.size() != up.pairs.size()) continue;
            Relation children{.of = relation, .last = true};
            for (const KeyPair& pair : down.pairs) {
                const auto same = std::find_if(up.pairs.begin(), up.pairs.end(),
                                               [&](const KeyPair& other) { return other.of_column == pair.of_column; });
                if (same != up.pairs.end()) children.key.push_back({pair.column, same->column});
            }
            if (children.key.size() == down.pairs.size())
                add_found(std::move(children), {.table = down.table, .depth = depth, .by = static_cast<int>(i)});
        }
    }

    void add_found(Relation relation, FoundRelation found) {
        const CatalogueTable& of = relations_.table(found.table);
        if (of.is_own || std::max(found.depth, found.ups) > depth_ || !is_new(relation, found.table)) return;
        relation.name = relations_.take_name(name_for(relation, of, found.table));
        offered_.push_back(relation.name);
        const RelationRequest* const word = relations_.word_on(relation.name);
        if (word && word->left_out) return;
        PlanRemarks& remarks = relations_.remarks();
        if (relations_.plan().relations.size() == max_found_relations) {
            remarks.is_cut = true;
            return;
        }
        if (!may_read(of, relation)) return add_once(remarks.unread, of.name);
        if (word) found.columns = word->columns;
        require_columns(of, relation.name, found.columns);
        switch (relations_.set_time(of, word ? word->time : std::nullopt, relation)) {
        case FoundRelations::TimeFault::none:
            return relations_.add(std::move(relation), std::move(found));
        case FoundRelations::TimeFault::unread:
            return add_once(remarks.unread, of.name);
        case FoundRelations::TimeFault::other_zone:
            return add_once(remarks.other_zones, relation.name);
        case FoundRelations::TimeFault::many_times:
            remarks.many_times.push_back(many_times(of, relation));
        }
    }

    // Says whether the table's rows were not reached by the same values before, whether or not they were taken.
    bool is_new(const Relation& relation, int table) {
        std::vector<std::string> path = {std::to_string(table), std::to_string(relation.of),
                                         relation.last ? "last" : ""};
        for (const KeyPair& pair : relation.key) {
            path.push_back(pair.column);
            path.push_back(pair.of_column);
        }
        return reached_.insert(std::move(path)).second;
    }

    // Names a relation by its table, by what it is of, and by its key, as far as it takes to be told from others.
    std::string name_for(const Relation& relation, const CatalogueTable& of, int table) const {
        std::string name = of.name;
        if (relations_.has_name(name) && relation.of != source_number && !has_alike(relation, table))
            name += (relation.last ? "_of_last_" : "_of_") + relation_at(relation.of).name;
        if (!relations_.has_name(name)) return name;
        name += relation.unique ? "_by" : "_with";
        for (const KeyPair& pair : relation.key) name += "_" + (relation.unique ? pair.of_column : pair.column);
        return name;
    }

    // Says whether the row is another one of the table that it is reached from, or that has more rows of its table.
    bool has_alike(const Relation& relation, int table) const {
        if (relation.unique && relations_.at(relation.of).table == table) return true;
        for (int i = 0; i < relations_.count(); i++)
            if (relations_.at(i).table == table && relation_at(i).of == relation.of) return true;
        return false;
    }

    static bool may_read(const CatalogueTable& of, const Relation& relation) {
        return std::all_of(relation.key.begin(), relation.key.end(),
                           [&](const KeyPair& pair) { return of.find(pair.column); });
    }

    static ManyTimes many_times(const CatalogueTable& of, const Relation& relation) {
        ManyTimes remark{relation.name, {}, {}};
        for (const TableColumn& column : of.columns) {
            if (column.type != ColumnType::time) continue;
            if (remark.column.empty()) remark.column = column.name;
            remark.columns += (remark.columns.empty() ? "" : ", ") + column.name;
        }
        return remark;
    }

    FoundRelations& relations_;
    const CandidateRequest& request_;
    int depth_ = 0;                              // of relations that are taken now
    std::vector<std::string> offered_;           // names of relations that foreign keys lead to
    std::set<std::vector<std::string>> reached_; // by table, parent and key
};

} // namespace

void follow_foreign_keys(FoundRelations& relations) {
    ForeignKeySearch(relations).run();
}

} // namespace btml::features
