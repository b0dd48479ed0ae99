#include "core/boosting/exchange/lightgbm_categories.hpp"

#include <cmath>

namespace btml::boosting {

namespace {

[[noreturn]] void refuse_pandas(std::string detail) {
    refuse_model(lightgbm, "pandas_categorical: " + detail);
}

// Returns how many categories a column of codes has at least that is numeric in training: "[0:2]" are its bounds.
double least_of_bounds(std::string_view word) {
    double bounds[2] = {};
    const size_t colon = std::min(word.find(':'), word.size());
    const std::string_view texts[2] = {word.substr(1, colon - 1), word.substr(std::min(colon + 1, word.size()))};
    for (size_t i = 0; i < 2; i++) {
        const std::string_view text = texts[i];
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bounds[i]);
        if (error != std::errc() || !(bounds[i] >= 0) || bounds[i] != std::floor(bounds[i])) return HUGE_VAL;
    }
    return bounds[1] + 1;
}

class CategoryNaming {
  public:
    CategoryNaming(const CategoryLines& lines, const Model& model, CategoryNumbering& numbering, Reservation& held,
                   RunContext& context)
        : lines_(lines),
          model_(model),
          numbering_(numbering),
          held_(held),
          context_(context),
          least_(model.features.size()) {
        held_.grow(sizeof(double) * least_.size());
        read_infos();
    }

    void name(std::string_view categories, std::vector<ImportNotice>& notices) {
        if (!categories.empty()) {
            numbering_.set_names(read_categories(categories, held_, context_));
            return;
        }
        Lists lists = read_lists();
        if (lists.empty() || set_stated(lists)) return;
        const std::vector<size_t> features = read_features();
        bool as_many = features.size() == lists.size();
        for (size_t i = 0; as_many && i < lists.size(); i++) as_many = fits(lists[i], features[i]);
        if (as_many)
            set_each(lists, features, notices);
        else
            set_certain(lists, features);
    }

  private:
    using Lists = std::vector<CategoryNames>;

    // Reads what training saw of each feature: the codes "-1:3:0" of a categorical one, where −1 is a missing value;
    // "none" of one that is constant.
    void read_infos() {
        size_t feature = 0;
        for_each_word(lines_.feature_infos.text, context_, [&](std::string_view word) {
            const size_t f = feature++;
            if (f >= least_.size() || word == "none") return;
            if (word.starts_with("[")) {
                least_[f] = least_of_bounds(word);
                return;
            }
            for (size_t begin = 0; begin < word.size();) {
                const size_t end = std::min(word.find(':', begin), word.size());
                const auto code =
                    number_of<int32_t>(word.substr(begin, end - begin), lines_.feature_infos.line, "feature_infos");
                if (code >= 0) least_[f] = std::max(least_[f], code + 1.0);
                if (code >= 0 && model_.features[f].categorical) numbering_.add_code(f, static_cast<uint32_t>(code));
                begin = end + 1;
            }
        });
    }

    Lists read_lists() {
        Lists lists;
        if (!lines_.pandas_categorical) return lists;
        JsonReader json(lines_.pandas_categorical.text, refuse_pandas, context_);
        if (json.peek() == JsonReader::Kind::null) return lists;
        json.array([&] {
            held_.grow(2 * sizeof(CategoryNames) + 4 * sizeof(size_t));
            lists.push_back(read_categories_with_null(json, held_));
        });
        json.finish();
        return lists;
    }

    // Reads the numbers of the features that were trained on as categorical: "[categorical_feature: 1,3]".
    std::vector<size_t> read_features() {
        std::vector<size_t> features;
        const LineValue& value = lines_.categorical_feature;
        const std::string_view text = value.text.substr(0, value.text.find(']'));
        held_.grow(value ? sizeof(size_t) * model_.features.size() : 0);
        const auto add = [&](std::string_view word) {
            const auto feature = number_of<size_t>(word, value.line, "categorical_feature");
            if (feature >= model_.features.size()) refuse_line(value.line, format("there is no feature %zu", feature));
            if (features.size() == model_.features.size())
                refuse_line(value.line, "more features are categorical than there are");
            features.push_back(feature);
        };
        for_each_word(
            text, context_, [&](std::string_view words) { for_each_word(words, context_, add); }, ',');
        std::sort(features.begin(), features.end());
        return features;
    }

    // Says whether the text itself says whose the lists are.
    bool set_stated(Lists& lists) {
        const LineValue& value = lines_.pandas_features;
        if (!value) return false;
        Buffer<uint32_t> features(context_.memory(), "a tree of an imported model");
        read_numbers(value, "pandas_features", lists.size(), features, context_);
        for (size_t i = 0; i < features.size(); i++) {
            if (features[i] >= model_.features.size())
                refuse_line(value.line, format("there is no feature %u", features[i]));
            numbering_.set_names(features[i], std::move(lists[i]));
        }
        return true;
    }

    bool fits(const CategoryNames& list, size_t feature) const {
        return static_cast<double>(list.names.size() + list.has_null) >= least_[feature];
    }

    // Returns by list the first feature that can have it, or the last, where all are placed in their order; fewer
    // features than lists where they cannot be.
    std::vector<size_t> places(const Lists& lists, bool from_end) const {
        std::vector<size_t> found;
        for (size_t step = 0; step < least_.size() && found.size() < lists.size(); step++) {
            const size_t feature = from_end ? least_.size() - 1 - step : step;
            if (fits(lists[from_end ? lists.size() - 1 - found.size() : found.size()], feature))
                found.push_back(feature);
            context_.worked(1);
        }
        if (from_end) std::reverse(found.begin(), found.end());
        return found;
    }

    // Takes the categorical features to have the lists, one each, and tells where another could have one.
    void set_each(Lists& lists, const std::vector<size_t>& features, std::vector<ImportNotice>& notices) {
        const std::vector<size_t> first = places(lists, false), last = places(lists, true);
        for (size_t i = 0; i < lists.size(); i++) {
            const size_t other = first[i] != features[i] ? first[i] : last[i];
            if (other != features[i] && notices.empty())
                notices.push_back(
                    {format("%s model does not say whose its lists of categories are", lightgbm),
                     format("Feature \"%s\" is taken to have list %zu, which feature \"%s\" could have as well.",
                            model_.features[features[i]].name.c_str(), i + 1, model_.features[other].name.c_str()),
                     format(R"(Give them to be sure: categories => '{"%s": ["a", "b"]}'.)",
                            model_.features[features[i]].name.c_str())});
            numbering_.set_names(features[i], std::move(lists[i]));
        }
    }

    // Gives lists to the categorical features that alone can have them. A list of an ordered column is left, which is a
    // number here too.
    void set_certain(Lists& lists, const std::vector<size_t>& features) {
        const std::vector<size_t> first = places(lists, false), last = places(lists, true);
        const bool possible = first.size() == lists.size();
        std::vector<uint8_t> named(least_.size(), 0);
        for (size_t i = 0; possible && i < lists.size(); i++) {
            const size_t f = first[i];
            if (f != last[i]) continue;
            named[f] = 1;
            if (model_.features[f].categorical || std::binary_search(features.begin(), features.end(), f))
                numbering_.set_names(f, lists[i]);
        }
        for (size_t f = 0; f < least_.size(); f++) {
            if (!model_.features[f].categorical || named[f]) continue;
            for (size_t i = 0; i < lists.size(); i++) {
                context_.worked(1);
                if (!possible || (first[i] <= f && f <= last[i] && first[i] != last[i] && fits(lists[i], f)))
                    refuse_uncertain(model_.features[f].name, lists.size());
            }
        }
    }

    void refuse_uncertain(const std::string& feature, size_t lists) const {
        throw Error(
            ErrorCode::invalid_argument,
            format("%s model does not say whether feature \"%s\" has one of its %zu lists of categories", lightgbm,
                   feature.c_str(), lists),
            "They are of the columns that pandas had as categories, of which LightGBM takes ordered ones for numbers.",
            format(R"(Give them as categories => '{"%s": ["a", "b"]}'.)", feature.c_str()));
    }

    const CategoryLines& lines_;
    const Model& model_;
    CategoryNumbering& numbering_;
    Reservation& held_;
    RunContext& context_;
    // Says by feature how many categories its column had at least if its values are codes; 0 where nothing is known,
    // infinity where they are no codes.
    std::vector<double> least_;
};

} // namespace

void name_categories(const CategoryLines& lines, std::string_view given, ImportedModel& imported,
                     CategoryNumbering& numbering, RunContext& context) {
    CategoryNaming(lines, imported.model, numbering, imported.held, context).name(given, imported.notices);
}

} // namespace btml::boosting
