#include "core/boosting/target_labels.hpp"

#include "core/data/dataset.hpp"

#include <cmath>
#include <set>

namespace btml::boosting {

namespace {

constexpr double max_whole = 1LL << 53; // beyond it a double is no longer every integer

// "objective => 'squared'"
std::string setting(const Options& options) {
    return format("objective => '%s'", name_of(options.objective));
}

[[noreturn]] void refuse_objective(const TargetColumn& target, const Options& options) {
    if (target.kind == TargetKind::boolean)
        throw Error(ErrorCode::wrong_type,
                    format("target \"%s\" is boolean, %s needs numbers", target.name, setting(options).c_str()),
                    "Objectives for boolean targets are \"binary\" and \"multiclass\".",
                    format("Leave out the objective, or make a number of the target: \"%s\"::integer.", target.name));
    throw Error(ErrorCode::wrong_type,
                format("target \"%s\" has labels, %s needs numbers", target.name, setting(options).c_str()),
                "Objectives for labels are \"binary\" and \"multiclass\".", "Leave out the objective.");
}

[[noreturn]] void refuse_unknown(const char* argument, const std::string& label,
                                 const std::vector<std::string>& labels) {
    const std::string nearest = nearest_name(label, labels);
    throw Error(ErrorCode::invalid_argument,
                format("%s names the label \"%s\", which no row has", argument, label.c_str()),
                "The labels are " + quoted_list(labels) + ".",
                nearest.empty() ? "" : format("Perhaps you meant \"%s\".", nearest.c_str()));
}

class LabelFinder {
  public:
    LabelFinder(TargetColumn target, const LabelRequest& request, Options& options, RunContext& context)
        : target_(std::move(target)), request_(request), options_(options), context_(context) {}

    Labels run() {
        if (target_.kind == TargetKind::number)
            read_numbers();
        else
            read_labels();
        check_count();
        check_arguments();
        if (options_.objective == ObjectiveNumber::binary && found_.names.size() == 2) choose_positive();
        if (request_.weights) weigh();
        return std::move(found_);
    }

  private:
    void read_numbers() {
        bool both;
        if (options_.objective == ObjectiveNumber::multiclass) {
            number_whole_values();
        } else if (options_.objective == ObjectiveNumber::binary) {
            if (are_zero_or_one(both)) found_.names = {"0", "1"};
        } else if (options_.objective == ObjectiveNumber::automatic) {
            options_.objective = ObjectiveNumber::squared;
            if (are_zero_or_one(both) && both)
                found_.notices.push_back(
                    {Labels::About::values,
                     format("target \"%s\" is 0 or 1 in every row, and is predicted as a number", target_.name),
                     "With objective => 'binary' predictions are probabilities."});
        }
    }

    void read_labels() {
        found_.names = target_.kind == TargetKind::boolean ? std::vector<std::string>{"false", "true"} : target_.labels;
        if (options_.objective == ObjectiveNumber::automatic)
            options_.objective = found_.names.size() == 2 ? ObjectiveNumber::binary : ObjectiveNumber::multiclass;
        if (!takes_labels(options_)) refuse_objective(target_, options_);
    }

    void number_whole_values() {
        const std::string what = format("target \"%s\"", target_.name);
        std::set<double> distinct;
        double min_invalid = std::numeric_limits<double>::infinity();
        context_.for_each(target_.values.size(), 4, [&](uint64_t row) {
            const double y = target_.values[row];
            check_finite(y, what.c_str());
            if (std::nearbyint(y) != y || std::fabs(y) > max_whole)
                min_invalid = std::min(min_invalid, y);
            else if (distinct.size() <= max_labels)
                distinct.insert(y);
        });
        if (std::isfinite(min_invalid))
            throw Error(ErrorCode::invalid_argument,
                        format("%s is %s in a row, labels that are numbers must be whole and below 2^53", what.c_str(),
                               shortest(min_invalid).c_str()),
                        "", "Cast the target to text to make labels of any values.");
        for (const double y : distinct) found_.names.push_back(label_of_number(y));
        check_count();
        const std::vector<double> sorted(distinct.begin(), distinct.end());
        context_.for_each(target_.values.size(), 4, [&](uint64_t row) {
            double& y = target_.values[row];
            y = static_cast<double>(std::lower_bound(sorted.begin(), sorted.end(), y) - sorted.begin());
        });
    }

    bool are_zero_or_one(bool& both) {
        bool zero = false, one = false, other = false;
        context_.for_each(target_.values.size(), 1, [&](uint64_t row) {
            const double y = target_.values[row];
            (y == 0 ? zero : y == 1 ? one : other) = true;
        });
        both = zero && one;
        return !other;
    }

    void check_count() {
        const size_t count = found_.names.size();
        if (count > max_labels)
            throw Error(ErrorCode::limit_exceeded,
                        format("target \"%s\" has more than %zu labels", target_.name, max_labels),
                        target_.kind == TargetKind::label ? format("It has %zu.", count) : "");
        if (count == 1) {
            if (!request_.is_of_group) throw DegenerateTarget::of_label(found_.names[0]);
            options_.objective = ObjectiveNumber::multiclass; // with a constant score for the only label
        }
        if (options_.objective == ObjectiveNumber::binary && count > 2)
            throw Error(ErrorCode::wrong_type,
                        format("target \"%s\" has %zu labels, objective => 'binary' needs two", target_.name, count),
                        "", "Use objective => 'multiclass', or a boolean target.");
    }

    void check_arguments() const {
        const auto refuse = [&](const char* argument, const char* valid) {
            if (takes_labels(options_) && found_.names.empty())
                throw Error(ErrorCode::invalid_argument,
                            format("%s is not valid for target \"%s\", which is a share", argument, target_.name), "",
                            "Shares have no labels: their targets are not only 0 and 1.");
            throw Error(ErrorCode::invalid_argument,
                        format("%s is not valid with %s", argument, setting(options_).c_str()), "",
                        format("It is for %s.", valid));
        };
        constexpr const char* both = "objective => 'binary' and objective => 'multiclass'";
        const bool has_labels = !found_.names.empty(), is_constant = found_.names.size() == 1;
        if (request_.positive && !is_constant && (!has_labels || options_.objective != ObjectiveNumber::binary))
            refuse("positive", "objective => 'binary'");
        if (request_.weights && !has_labels) refuse("class_weights", both);
        if (options_.balanced && !has_labels) refuse("balanced", both);
        if (request_.weights && options_.balanced)
            throw Error(ErrorCode::invalid_argument, "class_weights and balanced are not valid together", "",
                        "Give one of them.");
    }

    void choose_positive() {
        std::vector<std::string>& names = found_.names;
        if (!request_.positive) {
            if (target_.kind == TargetKind::label)
                found_.notices.push_back(
                    {Labels::About::positive,
                     format("predictions are the probability of the label \"%s\"", names[1].c_str()),
                     "Name the label with positive."});
            return;
        }
        if (*request_.positive == names[1]) return;
        if (*request_.positive != names[0]) refuse_unknown("positive", *request_.positive, names);
        std::swap(names[0], names[1]);
        context_.for_each(target_.values.size(), 1,
                          [&](uint64_t row) { target_.values[row] = 1 - target_.values[row]; });
    }

    void weigh() {
        found_.weights.assign(found_.names.size(), 1);
        for (const LabelWeight& given : *request_.weights) {
            const auto at = std::find(found_.names.begin(), found_.names.end(), given.label);
            if (at == found_.names.end() && !request_.is_of_group)
                refuse_unknown("class_weights", given.label, found_.names);
            if (given.weight != 0 && !(given.weight >= min_label_weight && given.weight <= max_label_weight))
                throw Error(ErrorCode::invalid_argument,
                            format("class_weights has %s for the label \"%s\"", shortest(given.weight).c_str(),
                                   given.label.c_str()),
                            "", valid_label_weights);
            if (at != found_.names.end())
                found_.weights[static_cast<size_t>(at - found_.names.begin())] = given.weight;
            else
                found_.notices.push_back(
                    {Labels::About::weights,
                     format("class_weights names the label \"%s\", which no row of a group has", given.label.c_str()),
                     "The group's labels are " + quoted_list(found_.names) + "."});
        }
        if (found_.names.size() == 1) {
            found_.weights.clear(); // of a constant
            return;
        }
        if (std::all_of(found_.weights.begin(), found_.weights.end(), [](double weight) { return weight == 0; }))
            throw NothingToTrainOn("class_weights has 0 for every label");
    }

    TargetColumn target_;
    const LabelRequest& request_;
    Options& options_;
    RunContext& context_;
    Labels found_;
};

} // namespace

std::string label_of_number(double y) {
    return format("%.0f", y + 0.0); // no −0
}

Labels find_labels(TargetColumn target, const LabelRequest& request, Options& options, RunContext& context) {
    return LabelFinder(std::move(target), request, options, context).run();
}

} // namespace btml::boosting
