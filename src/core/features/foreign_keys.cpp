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
            follow();
            // What a thing's row does not lead to, as that is left out.
            enter_behind_things();
            follow();
        }
        // One step more shows what is not reached.
        is_ahead_ = true;
        enter();
        follow();
        check_requests();
    }

  private:
    const Relation& relation_at(int relation) const { return relations_.plan().at(relation); }

    // Refuses requests for relations that foreign keys do not lead to.
    void check_requests() const {
        for (const RelationRequest& asked : request_.relations) {
            if (std::find(offered_.begin(), offered_.end(), asked.name) != offered_.end()) continue;
            const std::string nearest = nearest_name(asked.name, offered_);
            throw Error(ErrorCode::invalid_argument,
                        format("relation \"%s\" is none that foreign keys lead to", asked.name.c_str()),
                        offered_.empty() ? "They lead nowhere from the source's columns."
                                         : "They lead to " + quoted_list(offered_) + ".",
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

    // Goes on from all relations; what is known already is not added again.
    void follow() {
        for (int i = 0; i < relations_.count(); i++) {
            for (size_t key = 0; key < request_.foreign_keys.size(); key++) step(i, static_cast<int>(key));
            step_by_last(i);
        }
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

    // Adds the rows that refer to the same as the source's columns.
    void enter_behind_things() {
        for (const ForeignKey& key : request_.foreign_keys)
            if (const auto pairs = source_key(key, key.table, &KeyPair::column, &KeyPair::of_column))
                for (size_t down = 0; down < request_.foreign_keys.size(); down++)
                    if (request_.foreign_keys[down].to == key.to)
                        add_of_source({.of = source_number, .key = *pairs, .unique = true}, static_cast<int>(down));
    }

    // Adds rows that refer to what is joined to the source, where the source has their key.
    bool add_of_source(const Relation& thing, int number) {
        const ForeignKey& key = request_.foreign_keys[static_cast<size_t>(number)];
        std::vector<KeyPair> pairs = key.pairs;
        for (KeyPair& pair : pairs) {
            const auto same = std::find_if(thing.key.begin(), thing.key.end(),
                                           [&](const KeyPair& up) { return up.column == pair.of_column; });
            if (same == thing.key.end()) return false;
            pair.of_column = same->of_column;
        }
        add_found({.of = source_number, .key = std::move(pairs)}, {.table = key.table, .depth = 1, .by = number});
        return true;
    }

    void step(int relation, int number) {
        const ForeignKey& key = request_.foreign_keys[static_cast<size_t>(number)];
        const FoundRelation from = relations_.at(relation);
        const bool is_one = relation_at(relation).unique;
        const bool of_source = relations_.plan().rows_of(relation) == source_number;
        // The way back to the one row that many rows were reached from.
        const bool is_back = from.by == number && !is_one;
        // What the rows of a last parent refer to is far from the thing.
        if (key.table == from.table && !is_back && !relation_at(relation).last) {
            std::vector<KeyPair> pairs;
            for (const KeyPair& pair : key.pairs) pairs.push_back({pair.of_column, pair.column});
            add_found({.of = relation, .key = std::move(pairs), .unique = true},
                      {.table = key.to, .depth = from.depth, .ups = from.ups + 1, .by = number});
        }
        if (key.to != from.table || (is_one && !of_source)) return;
        const Relation& parent = relation_at(relation);
        if (is_one && parent.of == source_number && add_of_source(parent, number)) return;
        add_found({.of = relation, .key = key.pairs}, {.table = key.table, .depth = from.depth + 1, .by = number});
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
        if (of.is_own) return;
        if (is_ahead_) {
            if (!tables_.contains(found.table)) add_once(relations_.remarks().farther, of.name);
            return;
        }
        if (std::max(found.depth, found.ups) > depth_ || !is_new(relation, found.table)) return;
        tables_.insert(found.table);
        relation.name = relations_.take_name(name_for(relation, of, found.table));
        offered_.push_back(relation.name);
        const RelationRequest* const asked = relations_.request_for(relation.name);
        if (asked && asked->left_out) return;
        PlanRemarks& remarks = relations_.remarks();
        if (relations_.plan().relations.size() == max_found_relations) {
            remarks.is_cut = true;
            return;
        }
        if (!may_read(of, relation)) return add_once(remarks.unread, of.name);
        if (asked) found.columns = asked->columns;
        require_columns(of, relation.name, found.columns);
        switch (relations_.set_time(of, time_asked(asked, of), relation)) {
        case FoundRelations::TimeFault::none:
            return relations_.add(std::move(relation), std::move(found));
        case FoundRelations::TimeFault::unread:
            return add_once(remarks.unread, of.name);
        case FoundRelations::TimeFault::other_zone:
            return add_once(remarks.other_zones, relation.name);
        case FoundRelations::TimeFault::many_times:
            remark_times(of.times(), relation.name);
        }
    }

    // The time that is asked for a relation, or else for the one with its table's own name.
    std::optional<std::string> time_asked(const RelationRequest* asked, const CatalogueTable& of) const {
        if (asked && asked->time) return asked->time;
        const RelationRequest* const first = relations_.request_for(of.name);
        return first && first->time && of.find(*first->time) ? first->time : std::nullopt;
    }

    // Remarks which relations have which times: those of one table have the same.
    void remark_times(const std::vector<std::string>& times, const std::string& name) {
        std::vector<SeveralTimes>& all = relations_.remarks().several_times;
        const auto same =
            std::find_if(all.begin(), all.end(), [&](const SeveralTimes& known) { return known.times == times; });
        if (same == all.end())
            all.push_back({{name}, times});
        else
            same->relations.push_back(name);
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

    FoundRelations& relations_;
    const CandidateRequest& request_;
    int depth_ = 0;                              // of relations that are taken now
    bool is_ahead_ = false;                      // takes none, and remarks on the tables that are farther
    std::set<int> tables_;                       // that relations are of
    std::vector<std::string> offered_;           // names of relations that foreign keys lead to
    std::set<std::vector<std::string>> reached_; // by table, parent and key
};

} // namespace

void follow_foreign_keys(FoundRelations& relations) {
    ForeignKeySearch(relations).run();
}

} // namespace btml::features
