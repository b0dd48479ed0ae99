// Trees for how far off trees are: ln(e² + a little) of residuals e that are out of fold, each from a training over the
// other half of the rows, with the bins of the first training. Their number is the one that predicts best the halves
// that it was not trained on.
#pragma once

#include "core/boosting/booster.hpp"
#include "core/boosting/calibration_rows.hpp"

#include <array>

namespace btml::boosting {

class DeviationTraining {
  public:
    // What is done of a fit when its trees are there, and only the deviation is to come.
    static constexpr double begin = 0.25;

    // Keeps targets and weights, and cuts the rows to train on into halves, by rows of the target's table. The dataset
    // is as for CalibrationRows, and has its roles. Error invalid_argument for fewer than two such rows.
    DeviationTraining(const Dataset& dataset, uint64_t seed, ThreadTeam& team, RunContext& context);

    // Gives the model a deviation and a calibration: by the rows held out, or where there are none, by those of either
    // half. The bins forget the features' directions, which are promises about predictions.
    void run(Model& model, const Options& options, const CalibrationRows* held_out, BinnedData& data, ThreadTeam& team,
             RunContext& context);

  private:
    static constexpr int patience = 20; // iterations without a better loss

    Dataset view(Buffer<uint8_t> roles) const;
    Dataset view_of_logarithms(Buffer<uint8_t> roles) const;
    Buffer<uint8_t> roles_of_half(size_t half) const;
    Buffer<uint8_t> roles_of_all() const;
    void find_errors(const Model& model, Options options, const BinnedData& data, ThreadTeam& team);
    void take_logarithms();
    void calibrate_by_halves(Model& model, std::array<const Model*, 2> of_halves, size_t iterations,
                             const BinnedData& data, ThreadTeam& team);
    void calibrate(Model& model, uncertainty::Method method, Buffer<double> errors, const Buffer<double>& scores);

    RunContext& context_;
    Dataset kept_;                       // without columns of features
    std::vector<TargetRows> rows_;       // of either half
    std::vector<Buffer<double>> errors_; // of either half
    Buffer<double> logarithms_;          // by row of the join
};

} // namespace btml::boosting
