#include "core/features/candidates.hpp"

#include <algorithm>
#include <set>

namespace btml::features {

namespace {

// Texts with more values than these are names of things rather than kinds.
constexpr uint64_t max_kinds = 255;

bool has_pair_column(const std::vector<KeyPair>& pairs, std::string_view column, std::string KeyPair::*side) {
    return std::any_of(pairs.begin(), pairs.end(), [&](const KeyPair& pair) { return pair.*side == column; });
}

// "30d" of "30 days".
std::string window_label(const std::string& window) {
    std::string label;
    for (size_t i = 0; i < window.size(); i++) {
        const char c = window[i];
        if (c == ' ') continue;
        const bool is_letter = c >= 'a' && c <= 'z', begins = i == 0 || window[i - 1] < 'a' || window[i - 1] > 'z';
        if (!is_letter)
            label += c == '.' || c == ':' ? '_' : c;
        else if (begins)
            label += window.substr(i, 3) == "mon" ? "mon" : window.substr(i, 3) == "min" ? "min" : std::string(1, c);
    }
    return label;
}

std::string plain(std::string_view text) {
    std::string name;
    for (const char c : text) {
        const bool is_kept = std::isalnum(static_cast<unsigned char>(c)) || static_cast<unsigned char>(c) >= 0x80;
        name += is_kept ? c : '_';
    }
    return name;
}

// Cuts a name to what PostgreSQL keeps of one, at a character's end.
std::string cut(std::string name, size_t bytes) {
    if (name.size() <= bytes) return name;
    while (bytes > 0 && (static_cast<unsigned char>(name[bytes]) & 0xC0U) == 0x80U) bytes--;
    name.resize(bytes);
    return name;
}

class Names {
  public:
    // Returns the name, or one that is like it and that nothing has yet.
    std::string unused(const std::string& wanted) {
        std::string name = cut(wanted, max_name_bytes);
        for (int i = 2; !used_.insert(name).second; i++) {
            const std::string suffix = format("_%d", i);
            name = cut(wanted, max_name_bytes - suffix.size()) + suffix;
        }
        return name;
    }
    bool has(const std::string& name) const { return used_.contains(name); }

  private:
    std::set<std::string> used_;
};

class CandidateSearch {
  public:
    CandidateSearch(const CandidateRequest& request, PlanRemarks& remarks) : request_(request), remarks_(remarks) {
        plan_.as_of = request.as_of;
        plan_.inclusive = request.inclusive;
        for (const char* const taken : {"source", "prediction"}) relation_names_.unused(taken);
        for (const SourceColumn& column : request.source) feature_names_.unused(column.name);
    }

    Plan run() {
        is_named_ = std::any_of(request_.relations.begin(), request_.relations.end(),
                                [](const RelationRequest& relation) { return relation.table >= 0; });
        if (is_named_)
            for (const RelationRequest& relation : request_.relations) add_named(relation);
        else {
            follow_foreign_keys();
            check_words();
        }
        for (size_t i = 0; i < plan_.relations.size(); i++) {
            const size_t before = plan_.features.size();
            add_features(static_cast<int>(i));
            if (plan_.features.size() > before && counts_whole(static_cast<int>(i)))
                add_once(remarks_.timeless, plan_.relations[i].name);
        }
        try {
            plan_.check();
        } catch (const Error& error) {
            throw Error(error.code(), "relations do not go together", error.detail());
        }
        return std::move(plan_);
    }

  private:
    // Says whether rows count whatever their time is, and nobody wants it so.
    bool counts_whole(int relation) const {
        const RelationRequest* const word = word_on(plan_.at(relation).name);
        if (plan_.as_of.empty() || (word && word->time == "")) return false;
        return plan_.rows_of(relation) == relation ? !plan_.has_time(relation) : plan_.at(relation).time.empty();
    }

    // What is known of a relation beside what the plan says.
    struct Found {
        int table;
        int depth = 0; // tables with many rows on the way
        int ups = 0;   // tables with one row each since then
        int by = -1;   // the foreign key it was reached by; −1: as its columns are the source's
        std::optional<std::vector<std::string>> columns = {};
    };

    const CatalogueTable& table(int number) const { return request_.tables[static_cast<size_t>(number)]; }
    const CatalogueTable& table_of(int relation) const { return table(found_[static_cast<size_t>(relation)].table); }
    const RelationRequest* word_on(const std::string& name) const {
        for (const RelationRequest& relation : request_.relations)
            if (relation.name == name) return &relation;
        return nullptr;
    }

    // Refuses words on relations that there are not.
    void check_words() const {
        const std::vector<std::string> names(offered_.begin(), offered_.end());
        for (const RelationRequest& word : request_.relations) {
            if (offered_.contains(word.name)) continue;
            const std::string nearest = nearest_name(word.name, names);
            throw Error(ErrorCode::invalid_argument,
                        format("relation \"%s\" is none that foreign keys lead to", word.name.c_str()),
                        names.empty() ? "" : "They lead to " + quoted_list(names) + ".",
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

    void follow_foreign_keys() {
        enter();
        for (size_t i = 0; i < plan_.relations.size(); i++) {
            for (size_t key = 0; key < request_.foreign_keys.size(); key++)
                step(static_cast<int>(i), static_cast<int>(key));
            step_by_last(static_cast<int>(i));
        }
    }

    // Goes on from the last of many rows to what it refers to.
    void step_by_last(int relation) {
        if (plan_.at(relation).unique || !plan_.has_time(relation)) return;
        const Found from = found_[static_cast<size_t>(relation)];
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
        const Found from = found_[static_cast<size_t>(relation)];
        const bool is_unique = plan_.relations[static_cast<size_t>(relation)].unique;
        const bool of_source = plan_.rows_of(relation) == source_number;
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
        const Relation& parent = plan_.relations[static_cast<size_t>(relation)];
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

    void add_found(Relation relation, Found found) {
        const int number = found.table;
        const CatalogueTable& of = table(number);
        if (of.is_own || std::max(found.depth, found.ups) > request_.max_depth || is_known(number, relation)) return;
        std::string name = of.name;
        if (relation_names_.has(name)) {
            name += "_by";
            for (const KeyPair& pair : relation.key) name += "_" + (relation.unique ? pair.of_column : pair.column);
        }
        offered_.insert(name);
        const RelationRequest* const word = word_on(name);
        if (word && word->left_out) return;
        if (plan_.relations.size() == max_found_relations) {
            remarks_.is_cut = true;
            return;
        }
        if (!may_read(of, relation)) return add_once(remarks_.unread, of.name);
        relation.name = name;
        if (word) found.columns = word->columns;
        check_columns(of, name, found.columns);
        if (!set_time(of, word ? word->time : std::nullopt, relation)) return;
        relation.name = relation_names_.unused(name);
        add(std::move(relation), std::move(found));
    }

    // Says whether the same rows are reached by the same values already.
    bool is_known(int number, const Relation& relation) const {
        const auto same_pairs = [](const std::vector<KeyPair>& a, const std::vector<KeyPair>& b) {
            return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const KeyPair& x, const KeyPair& y) {
                return x.column == y.column && x.of_column == y.of_column;
            });
        };
        for (size_t i = 0; i < plan_.relations.size(); i++) {
            const Relation& known = plan_.relations[i];
            if (found_[i].table == number && known.of == relation.of && known.last == relation.last &&
                same_pairs(known.key, relation.key))
                return true;
        }
        return false;
    }

    static void add_once(std::vector<std::string>& list, const std::string& name) {
        if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
    }

    static bool may_read(const CatalogueTable& of, const Relation& relation) {
        return std::all_of(relation.key.begin(), relation.key.end(),
                           [&](const KeyPair& pair) { return of.find(pair.column); });
    }

    void add(Relation relation, Found found) {
        relation.schema = table(found.table).schema;
        relation.table = table(found.table).name;
        plan_.relations.push_back(std::move(relation));
        found_.push_back(std::move(found));
    }

    // Finds the time of a relation's rows. Returns false where it is left out as it may be any of several, or one that
    // may not be read.
    bool set_time(const CatalogueTable& of, const std::optional<std::string>& named, Relation& relation) {
        const TableColumn* time = nullptr;
        size_t times = 0;
        for (const TableColumn& column : of.columns)
            if (column.type == ColumnType::time) time = &column, times++;
        if (named) {
            time = named->empty() ? nullptr : of.find(*named);
            if (!time && !named->empty()) refuse_column(of, relation.name, *named);
            if (time && time->type != ColumnType::time)
                throw Error(ErrorCode::wrong_type, format("time \"%s\" of relation \"%s\" is no date or timestamp",
                                                          named->c_str(), relation.name.c_str()));
        } else if (of.has_unread_time && (!relation.unique || times == 0)) {
            add_once(remarks_.unread, of.name);
            return false;
        } else if (times > 1 && !relation.unique) {
            ManyTimes remark{relation.name, {}, {}};
            for (const TableColumn& column : of.columns) {
                if (column.type != ColumnType::time) continue;
                if (remark.column.empty()) remark.column = column.name;
                remark.columns += (remark.columns.empty() ? "" : ", ") + column.name;
            }
            remarks_.many_times.push_back(std::move(remark));
            return false;
        } else if (times > 1)
            time = nullptr;
        if (!time) return true;
        const bool is_zoned = time->time_type == TimeType::timestamptz;
        if (!request_.as_of.empty() && is_zoned != (request_.as_of_type == TimeType::timestamptz)) {
            if (is_named_) refuse_zone(*time, relation.name);
            add_once(remarks_.other_zones, relation.name);
            return false;
        }
        relation.time = time->name;
        relation.time_type = time->time_type;
        return true;
    }

    [[noreturn]] void refuse_zone(const TableColumn& time, const std::string& relation) const {
        throw Error(ErrorCode::wrong_type,
                    format("as_of \"%s\" has type %s, and time \"%s\" of relation \"%s\" has type %s",
                           request_.as_of.c_str(), time_type_names[static_cast<size_t>(request_.as_of_type)],
                           time.name.c_str(), relation.c_str(), time_type_names[static_cast<size_t>(time.time_type)]),
                    "", "Cast as_of in the source, or the time in a view.");
    }

    [[noreturn]] static void refuse_column(const CatalogueTable& of, const std::string& relation,
                                           const std::string& column) {
        std::vector<std::string> names;
        for (const TableColumn& known : of.columns) names.push_back(known.name);
        const std::string nearest = nearest_name(column, names);
        throw Error(ErrorCode::undefined_column,
                    format("relation \"%s\" has no column \"%s\" that you may read", relation.c_str(), column.c_str()),
                    "", nearest.empty() ? "" : format("Perhaps you meant \"%s\".", nearest.c_str()));
    }

    static void check_columns(const CatalogueTable& of, const std::string& relation,
                              const std::optional<std::vector<std::string>>& columns) {
        if (!columns) return;
        for (const std::string& column : *columns)
            if (!of.find(column)) refuse_column(of, relation, column);
    }

    void add_named(const RelationRequest& named) {
        if (named.left_out) return;
        const auto fail = [&](const std::string& fault, const std::string& hint) {
            throw Error(ErrorCode::invalid_argument, format("relation \"%s\" %s", named.name.c_str(), fault.c_str()),
                        "", hint);
        };
        if (named.table < 0)
            fail("has no \"table\"",
                 "Where one relation has a table and a key, all must: they replace what foreign keys find.");
        if (relation_names_.has(named.name)) fail("has a name that is taken", "Give it another name.");
        const CatalogueTable& of = table(named.table);
        Relation relation{.name = named.name, .of = source_number, .key = named.key};
        std::vector<std::string> before;
        for (size_t i = 0; i < plan_.relations.size(); i++) {
            before.push_back(plan_.relations[i].name);
            if (before.back() == named.of) relation.of = static_cast<int>(i);
        }
        if (!named.of.empty() && relation.of == source_number)
            fail("is of \"" + named.of + "\", which is no relation before it",
                 before.empty() ? "" : "Relations before it are " + quoted_list(before) + ".");
        for (const KeyPair& pair : relation.key) check_key_column(named, relation, pair);
        // What a row refers to is joined to each row, the last one included.
        relation.unique = is_unique(of, relation.key);
        relation.last = named.last && !relation.unique;
        if (!named.time && of.has_unread_time && !relation.unique)
            fail("has a time that you may not read", "Where its rows count whole, say so by \"time\": null.");
        if (!set_time(of, named.time, relation)) {
            remarks_.many_times.pop_back();
            fail("has several times", "Name the column that says since when a row is known, as in \"time\": \"at\".");
        }
        relation_names_.unused(named.name);
        check_columns(of, named.name, named.columns);
        add(std::move(relation), {.table = named.table, .columns = named.columns});
    }

    // Refuses a text that is to equal a number, and the like.
    void check_key_type(const RelationRequest& named, const KeyPair& pair, std::optional<ColumnType> of_type) const {
        const std::optional<ColumnType> type = table(named.table).find(pair.column)->type;
        if (!type || !of_type || *type == *of_type) return;
        throw Error(ErrorCode::wrong_type,
                    format("key \"%s\" of relation \"%s\" is a %s, \"%s\" is a %s", pair.column.c_str(),
                           named.name.c_str(), column_type_names[static_cast<size_t>(*type)], pair.of_column.c_str(),
                           column_type_names[static_cast<size_t>(*of_type)]),
                    "", "Cast one of them, in the source or in a view.");
    }

    void check_key_column(const RelationRequest& named, const Relation& relation, const KeyPair& pair) const {
        if (!table(named.table).find(pair.column)) refuse_column(table(named.table), named.name, pair.column);
        if (relation.of != source_number) {
            const TableColumn* const column = table_of(relation.of).find(pair.of_column);
            if (!column) refuse_column(table_of(relation.of), named.of, pair.of_column);
            return check_key_type(named, pair, column->type);
        }
        std::vector<std::string> names;
        for (const SourceColumn& column : request_.source) {
            names.push_back(column.name);
            if (column.name == pair.of_column) return check_key_type(named, pair, column.type);
        }
        const std::string nearest = nearest_name(pair.of_column, names);
        throw Error(ErrorCode::undefined_column,
                    format("source has no column \"%s\", the key of relation \"%s\"", pair.of_column.c_str(),
                           named.name.c_str()),
                    "", nearest.empty() ? "" : format("Perhaps you meant \"%s\".", nearest.c_str()));
    }

    static bool is_unique(const CatalogueTable& of, const std::vector<KeyPair>& key) {
        return std::any_of(of.unique_keys.begin(), of.unique_keys.end(), [&](const std::vector<std::string>& columns) {
            return std::all_of(columns.begin(), columns.end(), [&](const std::string& column) {
                return has_pair_column(key, column, &KeyPair::column);
            });
        });
    }

    void add_features(int relation) {
        const Relation& of = plan_.relations[static_cast<size_t>(relation)];
        const int rows = plan_.rows_of(relation);
        if (relation == rows) add_each(relation, "", ColumnType::number, {});
        const std::optional<std::vector<std::string>>& wanted = found_[static_cast<size_t>(relation)].columns;
        for (const TableColumn& column : table_of(relation).columns) {
            if (!column.type || column.name == of.time || has_pair_column(of.key, column.name, &KeyPair::column))
                continue;
            if (wanted && std::find(wanted->begin(), wanted->end(), column.name) == wanted->end()) continue;
            if (rows == source_number)
                add_value(relation, column);
            else if (column.type != ColumnType::time)
                add_of_column(relation, column);
        }
    }

    void add_value(int relation, const TableColumn& column) {
        if (column.of_key) return;
        // What a time with a zone and one without are apart depends on the session's TimeZone.
        const bool is_zoned = column.time_type == TimeType::timestamptz;
        if (column.type == ColumnType::time && !request_.as_of.empty() &&
            is_zoned != (request_.as_of_type == TimeType::timestamptz))
            return;
        if (column.type == ColumnType::text && values_of(relation, column).distinct > max_kinds) return;
        add_feature({.name = {},
                     .relation = relation,
                     .aggregate = Aggregate::value,
                     .column = column.name,
                     .type = *column.type});
    }

    TextValues values_of(int relation, const TableColumn& column) const {
        return request_.text_values(found_[static_cast<size_t>(relation)].table, column.name, plan_.at(relation).time);
    }

    void add_of_column(int relation, const TableColumn& column) {
        if (is_unique(table_of(relation), {{column.name, {}}})) return; // as many as rows
        if (column.of_key) return add_of_key(relation, column);
        if (column.type != ColumnType::text) return add_each(relation, column.name, *column.type, {});
        const TextValues values = values_of(relation, column);
        if (values.most_frequent.empty()) return; // each is there once
        if (values.distinct > max_kinds) return add_each(relation, column.name, *column.type, {Aggregate::distinct});
        add_each(relation, column.name, *column.type, {}, values.most_frequent);
    }

    // What tells things apart is counted; of few things the last one is a kind.
    void add_of_key(int relation, const TableColumn& column) {
        add_each(relation, column.name, *column.type, {Aggregate::distinct});
        if (column.type == ColumnType::time || values_of(relation, column).distinct > max_kinds) return;
        add_each(relation, column.name, ColumnType::text, {Aggregate::last});
    }

    // Adds features of a column, or of rows, in all windows. only: none for all that its type allows.
    void add_each(int relation, const std::string& column, ColumnType type, const std::vector<Aggregate>& only,
                  const std::vector<std::string>& most_frequent = {}) {
        for (size_t i = 0; i < std::size(aggregates); i++) {
            const auto aggregate = static_cast<Aggregate>(i);
            const AggregateFacts& facts = facts_of(aggregate);
            const bool is_taken = column.empty() ? facts.types == 0 : (facts.types & type_bit(type)) != 0;
            if (!is_taken || aggregate == Aggregate::value) continue;
            if (!only.empty() && std::find(only.begin(), only.end(), aggregate) == only.end()) continue;
            if (only.empty() && aggregate == Aggregate::distinct && type == ColumnType::number) continue;
            for (const std::string& value : compared_with(aggregate, type, most_frequent))
                add_windows({.name = {},
                             .relation = relation,
                             .aggregate = aggregate,
                             .column = column,
                             .type = type,
                             .value = value});
        }
    }

    // The values that an aggregate is taken for; "" where it compares with none.
    static std::vector<std::string> compared_with(Aggregate aggregate, ColumnType type,
                                                  const std::vector<std::string>& most_frequent) {
        const bool compares = aggregate == Aggregate::share || aggregate == Aggregate::matches;
        if (compares && type == ColumnType::text) return most_frequent;
        if (aggregate == Aggregate::matches) return {"true", "false"};
        return {""};
    }

    void add_windows(const Definition& feature) {
        const AggregateFacts& facts = facts_of(feature.aggregate);
        const bool has_time = plan_.has_time(plan_.rows_of(feature.relation));
        const bool of_now = feature.aggregate == Aggregate::since_first || feature.aggregate == Aggregate::since_last;
        if ((facts.timed && !has_time) || (of_now && plan_.as_of.empty())) return;
        if (!facts.windowed || !has_time || plan_.as_of.empty()) return add_feature(feature);
        for (const std::string& window : request_.windows) {
            Definition of_window = feature;
            of_window.window = window;
            add_feature(of_window);
        }
    }

    void add_feature(Definition feature) {
        std::string name = plan_.relations[static_cast<size_t>(feature.relation)].name;
        if (!feature.column.empty()) name += "_" + feature.column;
        if (feature.aggregate != Aggregate::value) name += std::string("_") + facts_of(feature.aggregate).name;
        if (!feature.value.empty()) name += "_" + plain(feature.value);
        const std::string label = feature.window.empty() ? "" : "_" + window_label(feature.window);
        feature.name = feature_names_.unused(cut(name, max_name_bytes - label.size()) + label);
        plan_.features.push_back(std::move(feature));
    }

    const CandidateRequest& request_;
    PlanRemarks& remarks_;
    Plan plan_;
    std::vector<Found> found_; // by relation
    Names relation_names_, feature_names_;
    bool is_named_ = false;         // by tables and keys, rather than found by foreign keys
    std::set<std::string> offered_; // names of relations that foreign keys lead to
};

} // namespace

const TableColumn* CatalogueTable::find(std::string_view column) const {
    const auto found =
        std::find_if(columns.begin(), columns.end(), [&](const TableColumn& known) { return known.name == column; });
    return found == columns.end() ? nullptr : &*found;
}

Plan candidate_plan(const CandidateRequest& request, PlanRemarks& remarks) {
    return CandidateSearch(request, remarks).run();
}

} // namespace btml::features
