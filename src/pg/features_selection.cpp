#include "pg/features_selection.hpp"

#include "core/features/feature_sql.hpp"
#include "core/features/sql_names.hpp"
#include "pg/features_catalogue.hpp"

#include <map>
#include <set>

extern "C" {
#include "utils/typcache.h"
}

namespace btml::pg {

using namespace features;

namespace {

// Rows that features are chosen by, and how many features one fit chooses from.
constexpr size_t sample_rows = 20'000, max_candidates = 800;
constexpr char holdout_column[] = "btml_holdout", choosing[] = "choosing features";

class FeatureSelection {
  public:
    FeatureSelection(Plan& plan, const SelectionRequest& request, RunContext& context)
        : plan_(plan), request_(request), context_(context), sample_(Source::of_rows(sample_sql())) {}

    void run() {
        // Fits to choose by say nothing to the user, and none is worth a compiler's time.
        const int settings = pg_call([] {
            const int level = NewGUCNestLevel();
            set_locally("jit", "off");
            set_locally("client_min_messages", "warning");
            return level;
        });
        choose();
        pg_call([=] { AtEOXact_GUC(true, settings); });
        drop_unused_relations();
        tell_equal();
    }

  private:
    static void set_locally(const char* name, const char* value) {
        set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
    }

    void choose() {
        const std::vector<Definition> candidates = std::move(plan_.features);
        std::vector<Definition> kept;
        // A SELECT has the source's columns, too, and the one that says which rows are held out.
        const size_t room = max_columns - std::min(max_columns - 1, request_.source.columns().size() + 1);
        const size_t at_once = std::min(max_candidates, room);
        for (size_t begin = 0; begin < candidates.size(); begin += at_once) {
            const size_t end = std::min(candidates.size(), begin + at_once);
            context_.progress(choosing, begin, candidates.size());
            append(kept, worthy({candidates.begin() + static_cast<ptrdiff_t>(begin),
                                 candidates.begin() + static_cast<ptrdiff_t>(end)}));
        }
        if (candidates.size() > at_once) {
            sort_by_gain(kept);
            kept.resize(std::min(kept.size(), room));
            kept = worthy(std::move(kept));
        }
        sort_by_gain(kept);
        kept.resize(std::min(kept.size(), static_cast<size_t>(request_.options.max_features)));
        plan_.features = std::move(kept);
    }

    static void append(std::vector<Definition>& all, std::vector<Definition> more) {
        all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
    static void sort_by_gain(std::vector<Definition>& list) {
        std::stable_sort(list.begin(), list.end(),
                         [](const Definition& a, const Definition& b) { return *a.gain > *b.gain; });
    }

    // Columns of the source that tell predictions apart and are no features.
    std::set<std::string> key_columns() const {
        std::set<std::string> names;
        if (!plan_.as_of.empty()) names.insert(plan_.as_of);
        for (const Relation& relation : plan_.relations)
            if (relation.of == source_number)
                for (const KeyPair& pair : relation.key) names.insert(pair.of_column);
        return names;
    }

    // A column as what can be hashed: its text where values of its type cannot.
    std::string hashed(const std::string& name) const {
        const Oid type = request_.source.columns()[static_cast<size_t>(request_.source.column(name))].type;
        const bool has_hash = pg_call(
            [=] { return lookup_type_cache(type, TYPECACHE_HASH_EXTENDED_PROC)->hash_extended_proc != InvalidOid; });
        return quoted_name(name) + (has_hash ? "" : "::text");
    }

    // The sample's rows are those of the least hashes, whatever the order of the source's rows. Only they are written
    // as texts, which order those of one hash.
    std::string sample_sql() const {
        std::string keys = hashed(request_.target), columns;
        for (const std::string& name : key_columns()) keys += ", " + hashed(name);
        for (const Source::Column& column : request_.source.columns())
            if (column.name != request_.holdout) columns += "sample." + quoted_name(column.name) + ", ";
        const std::string rows = std::to_string(sample_rows);
        std::string sql = "WITH btml_hashed AS (SELECT source.*, pg_catalog.hash_record_extended(ROW(" + keys + "), " +
                          std::to_string(request_.options.seed) + ") AS btml_hash FROM (\n" +
                          request_.source.analysis().text + "\n) AS source WHERE " + quoted_name(request_.target) +
                          " IS NOT NULL ORDER BY btml_hash FETCH FIRST " + rows +
                          " ROWS WITH TIES), sample AS MATERIALIZED (SELECT *, row_number() OVER (ORDER BY btml_hash, "
                          "btml_hashed::text COLLATE \"C\") AS btml_place FROM btml_hashed ORDER BY btml_place LIMIT " +
                          rows + ")";
        const std::string by_hash = "sample.btml_place % 5 = 0", as_of = quoted_name(plan_.as_of);
        if (request_.holdout)
            return sql + " SELECT " + columns + "sample." + quoted_name(*request_.holdout) + " AS " + holdout_column +
                   " FROM sample";
        if (plan_.as_of.empty()) return sql + " SELECT " + columns + by_hash + " AS " + holdout_column + " FROM sample";
        return sql + ", border AS (SELECT percentile_disc(0.8) WITHIN GROUP (ORDER BY " + as_of + ") AS at, max(" +
               as_of + ") AS last FROM sample) SELECT " + columns + "CASE WHEN border.last > border.at THEN sample." +
               as_of + " > border.at ELSE " + by_hash + " END AS " + holdout_column + " FROM sample, border";
    }

    // Returns the features that trees use beside the source's own columns, with their gains.
    std::vector<Definition> worthy(std::vector<Definition> tried) {
        if (tried.empty()) return tried;
        plan_.features = tried;
        std::string names;
        const std::set<std::string> keys = key_columns();
        for (const Source::Column& column : request_.source.columns())
            if (column.name != request_.target && column.name != request_.holdout && !keys.contains(column.name) &&
                feature_column_type(column.type, column.collation))
                names += literal(column.name) + ", ";
        for (const Definition& feature : tried) names += literal(feature.name) + ", ";
        names.resize(names.size() - 2);
        const std::string fit = "SELECT feature, gain::text FROM btml.feature_importance(btml.boost_fit(" +
                                literal(feature_sql_over(plan_, sample_, context_)) + ", " + literal(request_.target) +
                                ", features => ARRAY[" + names + "], holdout => '" + holdout_column +
                                "', trees => 200, early_stopping => 20, seed => " +
                                std::to_string(request_.options.seed) + ")) WHERE gain > 0";
        std::map<std::string, double> gains;
        for (const TextRow& row : text_rows(fit, choosing, context_))
            gains[row[0]] = std::strtod(row[1].c_str(), nullptr);
        std::vector<Definition> found;
        for (Definition& feature : tried) {
            const auto gain = gains.find(feature.name);
            if (gain == gains.end()) continue;
            feature.gain = gain->second;
            found.push_back(std::move(feature));
        }
        return found;
    }

    // Leaves only the relations that features or other relations need.
    void drop_unused_relations() {
        std::vector<bool> needed(plan_.relations.size());
        for (const Definition& feature : plan_.features) needed[static_cast<size_t>(feature.relation)] = true;
        for (size_t i = needed.size(); i-- > 0;)
            if (needed[i] && plan_.relations[i].of != source_number)
                needed[static_cast<size_t>(plan_.relations[i].of)] = true;
        std::vector<int> places(needed.size(), source_number);
        std::vector<Relation> left;
        for (size_t i = 0; i < needed.size(); i++) {
            if (!needed[i]) continue;
            places[i] = static_cast<int>(left.size());
            left.push_back(std::move(plan_.relations[i]));
            if (int& of = left.back().of; of != source_number) of = places[static_cast<size_t>(of)];
        }
        plan_.relations = std::move(left);
        for (Definition& feature : plan_.features) feature.relation = places[static_cast<size_t>(feature.relation)];
    }

    // Tells of a first feature that is the target itself.
    void tell_equal() {
        if (plan_.features.empty()) return;
        const Definition& first = plan_.features.front();
        const Source::Column& target = sample_.columns()[static_cast<size_t>(sample_.column(request_.target))];
        const std::optional<ColumnType> type = feature_column_type(target.type, target.collation);
        const bool is_text = first.type == ColumnType::text &&
                             (first.aggregate == Aggregate::last || first.aggregate == Aggregate::value);
        if (!type || (type == ColumnType::text) != is_text || type == ColumnType::time) return;
        const std::string value = quoted_name(request_.target) + (type == ColumnType::boolean ? "::int" : "");
        Plan alone = plan_;
        alone.features = {first};
        const std::vector<TextRow> rows =
            text_rows("SELECT count(*)::text FROM (\n" + feature_sql_over(alone, sample_, context_) +
                          "\n) AS f WHERE " + value + " IS DISTINCT FROM " + quoted_name(first.name),
                      "comparing a feature with the target", context_);
        if (rows.front().front() == "0")
            notice("feature \"" + first.name + "\" equals the target in every row",
                   "It is the " + alone.words(first) + ".",
                   "Leave its column out unless it is known when predictions are made.");
    }

    Plan& plan_;
    const SelectionRequest& request_;
    RunContext& context_;
    const Source sample_;
};

} // namespace

void select_features(Plan& plan, const SelectionRequest& request, RunContext& context) {
    FeatureSelection(plan, request, context).run();
}

} // namespace btml::pg
