#include "core/boosting/exchange/xgboost_json.hpp"

#include "core/boosting/exchange/xgboost_tree.hpp"

#include <charconv>
#include <cmath>

namespace btml::boosting {

double threshold_of_doubles(float threshold) {
    static constexpr float infinity = std::numeric_limits<float>::infinity();
    static constexpr double past_floats = 0x1p128;  // where rounding takes it for infinite
    if (!(threshold > -infinity)) return -HUGE_VAL; // nothing is less, nor than NaN
    const float below = std::nextafter(threshold, -infinity);
    const double above = threshold == infinity ? past_floats : static_cast<double>(threshold);
    const double middle = (above + (below == -infinity ? -past_floats : static_cast<double>(below))) / 2;
    // The middle is rounded to the one of the two whose last bit is 0.
    const bool middle_is_below = std::bit_cast<uint32_t>(threshold) & 1;
    return middle_is_below ? std::nextafter(middle, HUGE_VAL) : middle;
}

namespace {

constexpr char what_model[] = "an imported model";

[[noreturn]] void refuse_json(std::string detail) {
    refuse_model(xgboost, std::move(detail));
}

[[noreturn]] void refuse_json_form(std::string detail) {
    refuse_json("In its JSON form: " + detail);
}

// Returns the score of a base_score, which is on the scale of the target. Computes in floats and by the C library's
// function, as XGBoost does it: the last bit is that of the library and the processor. Probabilities keep its distance
// from 0 and 1. Where a mean of 0 has −∞ there, the least float gives the same predictions, 0. What no target can have
// is NaN.
float score_of_base(float base, Link link) {
    if (link == Link::exponential) return base == 0 ? std::numeric_limits<float>::lowest() : std::log(base);
    if (link != Link::logistic) return base;
    if (!(base >= 0 && base <= 1)) return std::numeric_limits<float>::quiet_NaN();
    constexpr float distance = 1e-6F;
    return -std::log(1.0F / std::clamp(base, distance, 1.0F - distance) - 1.0F);
}

class XgboostReader {
  public:
    XgboostReader(std::string_view text, JsonReader::Refuse refuse_json, RunContext& context)
        : json_(text, refuse_json, context),
          context_(context),
          result_(xgboost, context),
          trees_(held_, context),
          groups_(context.memory(), what_model),
          weights_(context.memory(), what_model),
          base_scores_(context.memory(), what_model) {}

    ImportedModel read(std::string_view categories) {
        if (json_.peek() != JsonReader::Kind::object) json_.fail("an object is missing");
        bool has_learner = false;
        json_.object([&](const std::string& key) {
            if (key == "learner") {
                has_learner = true;
                read_learner();
            } else if (key == "version") {
                read_version();
            } else {
                json_.skip();
            }
        });
        json_.finish();
        if (!has_learner) refuse_json("It has no learner.");
        if (booster_ == "gblinear")
            throw Error(ErrorCode::not_supported, "XGBoost model is of the booster gblinear, which is not supported",
                        "It has no trees.");
        if (booster_ != "gbtree" && booster_ != "dart") refuse_json("Its booster is neither gbtree nor dart.");
        if (targets_ > 1)
            throw Error(ErrorCode::not_supported,
                        format("XGBoost model has %zu targets, which is not supported", targets_),
                        "A prediction is one number.", "Train a model for each target.");
        make_bases(make_objective());
        weigh_trees();
        arrange_trees();
        make_features(categories);
        return std::move(result_);
    }

  private:
    void read_version() {
        json_.array([&] {
            version_ += (version_.empty() ? "" : ".") + std::to_string(json_.integer(0, INT32_MAX));
            if (version_.size() > 100) json_.fail("version has too many numbers");
        });
    }

    void read_learner() {
        // Reads one member of an object, by `read`.
        const auto read_only = [&](const char* wanted, const auto& read) {
            json_.object([&](const std::string& name) { name == wanted ? read() : json_.skip(); });
        };
        json_.object([&](const std::string& key) {
            if (key == "feature_names")
                read_strings(names_);
            else if (key == "feature_types")
                read_strings(types_);
            else if (key == "gradient_booster")
                read_booster(true);
            else if (key == "attributes")
                read_only("best_iteration", [&] { best_iteration_ = read_count("best_iteration"); });
            else if (key == "objective")
                read_only("name", [&] { objective_ = json_.string(); });
            else if (key == "learner_model_param")
                read_parameters();
            else
                json_.skip();
        });
    }

    void read_strings(std::vector<std::string>& list) {
        list.clear();
        json_.array([&] {
            list.push_back(json_.string());
            held_.grow(2 * sizeof(std::string) + list.back().size());
        });
    }

    void read_parameters() {
        json_.object([&](const std::string& name) {
            if (name == "num_feature") {
                features_ = read_count("num_feature");
            } else if (name == "num_class") {
                classes_ = read_count("num_class");
            } else if (name == "num_target") {
                targets_ = read_count("num_target");
            } else if (name == "base_score") {
                base_scores_.resize(0);
                read_base_scores(json_);
            } else {
                json_.skip();
            }
        });
    }

    // DART has trees with weights around another booster.
    void read_booster(bool outer) {
        json_.object([&](const std::string& key) {
            if (key == "name") {
                const std::string name = json_.string();
                if (outer) booster_ = name;
            } else if (key == "gbtree" && outer) {
                read_booster(false);
            } else if (key == "model") {
                read_trees();
            } else if (key == "weight_drop") {
                weights_.resize(0);
                json_.array([&] { weights_.push_back(json_.number_of_32_bits()); });
            } else {
                json_.skip();
            }
        });
    }

    void read_trees() {
        json_.object([&](const std::string& key) {
            if (key == "trees") {
                json_.array([&] { model_.trees.push_back(trees_.read(json_, model_.trees.size())); });
            } else if (key == "tree_info") {
                groups_.resize(0);
                json_.array([&] { groups_.push_back(static_cast<uint32_t>(json_.integer(0, UINT32_MAX))); });
            } else if (key == "gbtree_model_param") {
                json_.object([&](const std::string& name) {
                    if (name == "num_parallel_tree")
                        parallel_trees_ = std::max<size_t>(1, read_count("num_parallel_tree"));
                    else
                        json_.skip();
                });
            } else if (key == "cats") {
                read_categories();
            } else {
                json_.skip();
            }
        });
    }

    void read_categories() {
        json_.object([&](const std::string& key) {
            if (key != "enc") return json_.skip();
            categories_.clear();
            json_.array([&] {
                held_.grow(2 * sizeof(CategoryNames));
                categories_.push_back(read_encoding());
            });
        });
    }

    // Numbers, or strings as bytes one after the other with the places where they begin and end.
    CategoryNames read_encoding() {
        Buffer<int64_t> offsets(context_.memory(), what_model), values(context_.memory(), what_model);
        bool has_offsets = false;
        json_.object([&](const std::string& key) {
            if (key == "offsets") {
                has_offsets = true;
                json_.array([&] { offsets.push_back(json_.integer(0, INT32_MAX)); });
            } else if (key == "values") {
                // Numbers are doubles here: larger ones may stand for others next to them.
                constexpr int64_t max_exact = (int64_t{1} << 53) - 1;
                json_.array([&] { values.push_back(json_.integer(-max_exact, max_exact)); });
            } else {
                json_.skip();
            }
        });
        CategoryNames names{has_offsets ? "text" : "bigint", {}};
        const size_t count = has_offsets ? std::max<size_t>(offsets.size(), 1) - 1 : values.size();
        held_.grow(count * sizeof(std::string) + values.size());
        for (size_t i = 0; i < count; i++) {
            if (!has_offsets) {
                names.names.push_back(std::to_string(values[i]));
                continue;
            }
            if (offsets[i] > offsets[i + 1] || offsets[i + 1] > static_cast<int64_t>(values.size()))
                json_.fail("the offsets of categories do not ascend to the number of their bytes");
            std::string& name = names.names.emplace_back();
            for (int64_t at = offsets[i]; at < offsets[i + 1]; at++) {
                const int64_t byte = values[static_cast<size_t>(at)];
                if (byte < -128 || byte > 255) json_.fail("a category has a byte that is none");
                name.push_back(static_cast<char>(byte));
            }
            if (name.find('\0') != std::string::npos) json_.fail("a category has a zero byte");
        }
        context_.worked(10 * count + values.size());
        return names;
    }

    // Parameters are strings, which older versions and other writers may give as numbers.
    std::string read_text() {
        if (json_.peek() == JsonReader::Kind::string) return json_.string();
        return std::string(json_.number_text());
    }

    size_t read_count(const char* key) {
        const std::string text = read_text();
        uint32_t count = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
        if (error != std::errc() || end != text.data() + text.size() || text.empty())
            json_.fail(format("%s is no whole number", key));
        return count;
    }

    // Reads a number or an array, either of which may be within a string.
    void read_base_scores(JsonReader& json) {
        switch (json.peek()) {
        case JsonReader::Kind::array:
            return json.array([&] { base_scores_.push_back(json.number_of_32_bits()); });
        case JsonReader::Kind::string: {
            const std::string text = json.string();
            JsonReader inner(
                text, [](std::string detail) { refuse_json("base_score: " + detail); }, context_);
            if (inner.peek() == JsonReader::Kind::string) json.fail("base_score is no number");
            read_base_scores(inner);
            return inner.finish();
        }
        default:
            base_scores_.push_back(json.number_of_32_bits());
        }
    }

    const ForeignObjective& make_objective() {
        const auto [form, number] = find_objective(&Objective::xgboost, objective_);
        if (objective_.empty()) refuse_json("It has no objective.");
        if (!form)
            refuse_feature_of(xgboost, "predictions of objective \"" + objective_ + "\"", "Their link is not known.");
        const size_t scores = std::max<size_t>(1, classes_);
        if (has_scores_by_label(form->link) != (classes_ > 0) && classes_ > 1)
            refuse_json(format("It has %zu classes of objective ", classes_) + form->name + ".");
        if (scores > max_labels) refuse_json(format("It has %zu classes.", scores));
        model_.options.objective = number;
        model_.imported = Import{"XGBoost " + (version_.empty() ? "of no version" : version_), form->name, form->link};
        model_.imported->single_precision = true;
        result_.add_labels(form->labels(scores));
        model_.bases.resize(scores);
        return *form;
    }

    // XGBoost stores names as so many bytes as they have characters, so that names beyond ASCII lose their ends and
    // those after them begin too early. Error not_supported, unless the caller gives the feature's names.
    void check_names(size_t feature, const GivenCategories& given) const {
        const std::string& name = model_.features[feature].name;
        const auto is_cut = [](const std::string& category) {
            return std::any_of(category.begin(), category.end(), [](char c) { return (c & 0x80) != 0; });
        };
        const std::vector<std::string>& names = categories_[feature].names;
        context_.worked(names.size());
        if (std::none_of(names.begin(), names.end(), is_cut)) return;
        if (given.contains(name)) return;
        throw Error(ErrorCode::not_supported,
                    format("categories of feature \"%s\" are not ASCII, and XGBoost cuts such names", name.c_str()), {},
                    format("Give all of them, in their order in training: categories => '{\"%s\": [\"…\", …]}'.",
                           name.c_str()));
    }

    void make_features(std::string_view categories) {
        if (features_ == 0) refuse_json("It has no num_feature, or 0.");
        for (const auto& [list, name] : {std::pair(&names_, "feature_names"), {&types_, "feature_types"}})
            if (!list->empty() && list->size() != features_)
                refuse_json(format("It has %zu %s for %zu features.", list->size(), name, features_));
        if (names_.empty() && features_ > max_unnamed_features)
            throw Error(ErrorCode::limit_exceeded,
                        format("XGBoost model has %zu features without names, at most %zu are possible", features_,
                               max_unnamed_features),
                        {}, "Save it with feature_names.");
        if (categories_.size() > features_) refuse_json("It has categories of more features than there are.");
        held_.grow(features_ * (sizeof(Feature) + 2 * sizeof(std::string)));
        for (size_t f = 0; f < features_; f++) {
            const bool boolean = !types_.empty() && types_[f] == "i";
            model_.features.push_back({names_.empty() ? "f" + std::to_string(f) : std::move(names_[f]),
                                       boolean ? "boolean" : "double precision",
                                       !types_.empty() && types_[f] == "c",
                                       {}});
            context_.worked(20);
        }
        if (const std::string* const name = FeatureNames(model_.features, context_).repeated)
            refuse_json("feature_names has " + shown(*name) + " twice.");
        CategoryNumbering numbering(model_, xgboost, held_, context_);
        for (const auto& [feature, kinds] : trees_.kinds()) {
            if (static_cast<size_t>(feature) >= features_)
                refuse_json(format("A tree splits feature %d of %zu.", feature, features_));
            for (const SplitKinds kind : {SplitKinds::number, SplitKinds::category})
                if (kinds & static_cast<uint8_t>(kind))
                    numbering.split(static_cast<size_t>(feature), kind == SplitKinds::category);
        }
        GivenCategories given;
        if (!categories.empty()) given = boosting::read_categories(categories, held_, context_);
        for (size_t f = 0; f < categories_.size(); f++) {
            if (categories_[f].names.empty()) continue;
            check_names(f, given);
            numbering.set_names(f, std::move(categories_[f]));
        }
        numbering.set_names(std::move(given));
        numbering.apply();
    }

    void make_bases(const ForeignObjective& objective) {
        if (base_scores_.empty()) base_scores_.push_back(0.5F);
        const size_t scores = model_.scores();
        if (base_scores_.size() != 1 && base_scores_.size() != scores)
            refuse_json(format("It has %zu base scores for %zu scores.", base_scores_.size(), scores));
        for (size_t s = 0; s < scores; s++) {
            const float base = base_scores_[base_scores_.size() == 1 ? 0 : s];
            const float score = score_of_base(base, objective.link);
            if (!std::isfinite(score))
                refuse_json(format("Its base_score is %s, which objective %s does not take.",
                                   shortest(static_cast<double>(base)).c_str(), objective.name));
            model_.bases[s] = static_cast<double>(score);
        }
    }

    // A product of two floats is exact as a double, so that this rounds as XGBoost does.
    void weigh_trees() {
        if (booster_ != "dart") return;
        if (weights_.size() != model_.trees.size())
            refuse_json(format("It has %zu weights of %zu trees.", weights_.size(), model_.trees.size()));
        for (size_t t = 0; t < model_.trees.size(); t++) {
            for (Node& node : model_.trees[t])
                node.value = static_cast<double>(static_cast<float>(node.value * static_cast<double>(weights_[t])));
            for (const Node& node : model_.trees[t])
                if (!std::isfinite(node.value))
                    refuse_json(format("A leaf of tree %zu times its weight is not finite.", t));
            context_.worked(2 * model_.trees[t].size());
        }
    }

    // Puts the trees of an iteration side by side, one for each score, in the order that scores are summed in; XGBoost
    // may have several trees a score in an iteration.
    void arrange_trees() {
        const size_t scores = model_.scores();
        if (groups_.size() != model_.trees.size())
            refuse_json(format("It has %zu trees, and tree_info of %zu.", model_.trees.size(), groups_.size()));
        std::vector<std::vector<size_t>> of_score(scores);
        for (size_t t = 0; t < groups_.size(); t++) {
            if (groups_[t] >= scores) refuse_json(format("Tree %zu is of class %u, of %zu.", t, groups_[t], scores));
            of_score[groups_[t]].push_back(t);
        }
        size_t iterations = of_score[0].size();
        for (const std::vector<size_t>& trees : of_score)
            if (trees.size() != iterations) refuse_json("Its classes have different numbers of trees.");
        iterations = kept_iterations(iterations);
        std::vector<Tree> arranged;
        arranged.reserve(iterations * scores);
        for (size_t i = 0; i < iterations; i++)
            for (size_t s = 0; s < scores; s++) arranged.push_back(std::move(model_.trees[of_score[s][i]]));
        model_.trees = std::move(arranged);
    }

    // Leaves out what comes after the best iteration. Training that continues a model keeps the best iteration of
    // before.
    size_t kept_iterations(size_t iterations) {
        if (!best_iteration_ || *best_iteration_ >= iterations / parallel_trees_) return iterations;
        const size_t all = iterations / parallel_trees_, kept = *best_iteration_ + 1;
        if (kept < all)
            result_.notices.push_back(
                {format("%zu of the XGBoost model's %zu iterations are left out", all - kept, all),
                 format("They come after its best_iteration, %zu, that early stopping set.", kept - 1),
                 "For all of them, save the model after booster.set_attr(best_iteration=None)."});
        return std::min(iterations, kept * parallel_trees_);
    }

    JsonReader json_;
    RunContext& context_;
    ImportedModel result_;
    Reservation& held_ = result_.held;
    Model& model_ = result_.model;
    XgboostTreeReader trees_;
    std::string version_, booster_, objective_;
    std::vector<std::string> names_, types_; // of features, where the file has them
    std::vector<CategoryNames> categories_;  // by feature, likewise
    size_t features_ = 0, classes_ = 0, targets_ = 1, parallel_trees_ = 1;
    std::optional<size_t> best_iteration_;
    Buffer<uint32_t> groups_; // by tree: the score that it is added to
    Buffer<float> weights_;   // by tree, of DART
    Buffer<float> base_scores_;
};

} // namespace

ImportedModel read_xgboost(std::string_view text, std::string_view categories, RunContext& context) {
    return XgboostReader(text, refuse_json, context).read(categories);
}

ImportedModel read_xgboost_ubjson(std::string_view json, std::string_view categories, RunContext& context) {
    return XgboostReader(json, refuse_json_form, context).read(categories);
}

} // namespace btml::boosting
