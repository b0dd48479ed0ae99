#include "core/gp/sparse/covariances.hpp"

#include "core/numbers/elementary.hpp"

namespace btml::gp {

namespace BTML_LEVEL {

namespace {

static_assert(covariance_group == lanes);

// Eight numbers in memory.
using LanesThere [[gnu::vector_size(lanes * sizeof(double)), gnu::aligned(8), gnu::may_alias]] = double;

#define BTML_LANES(place) (*reinterpret_cast<const LanesThere*>(place))

[[gnu::always_inline]] inline void store(const Lanes& lane, double* to) {
    __builtin_memcpy(to, &lane, sizeof(lane));
}

// The covariance over the signal, and −2 times its derivative by the squared distance.
struct Shape {
    Lanes covariance, steepness;
};

// Takes squared distances, and what the logarithm of the covariance loses by categories.
template <class Kernel>
[[gnu::always_inline]] inline void find_shape(Lanes& squares, const Lanes& penalty, Shape& shape) {
    Lanes a = Kernel::rate * squares;
    if constexpr (Kernel::is_rooted)
        for (size_t i = 0; i < lanes; i++) a[i] = __builtin_sqrt(a[i]);
    Lanes value = -a - penalty;
    exponential<Lanes, LaneBits>(value);
    shape.covariance = shape.steepness = value;
    if constexpr (Kernel::is_rooted) Kernel::template multiply<pairwise::DoubleArithmetic>(shape.covariance, a);
    Kernel::template steepen<pairwise::DoubleArithmetic>(shape.steepness, a);
}

template <class Kernel>
[[gnu::always_inline]] inline void find_shape(const CovarianceTask& task, const double* inducing, Shape& shape) {
    Lanes squares{}, penalty{};
    for (size_t c = 0; c < task.numbers; c++) {
        const Lanes difference = BTML_LANES(task.group + c * lanes) - inducing[c];
        squares += difference * difference;
    }
    for (size_t c = task.numbers; c < task.width; c++)
        penalty +=
            BTML_LANES(task.group + c * lanes) == inducing[c] ? Lanes{} : Lanes{} + task.penalties[c - task.numbers];
    find_shape<Kernel>(squares, penalty, shape);
}

template <class Kernel>
void find(const CovarianceTask& task) {
    for (size_t u = 0; u < task.count; u++) {
        Shape shape;
        find_shape<Kernel>(task, task.inducing + u * task.width, shape);
        store(task.signal * shape.covariance, task.values + u * task.stride);
    }
}

[[gnu::always_inline]] inline double sum_of(const Lanes& x) {
    double sum = 0;
    for (size_t i = 0; i < lanes; i++) sum += x[i];
    return sum;
}

template <class Kernel>
void add(const CovarianceTask& task, double* slopes, double* by_inducing) {
    Lanes by_signal{};
    for (size_t u = 0; u < task.count; u++) {
        const double* const inducing = task.inducing + u * task.width;
        Shape shape;
        find_shape<Kernel>(task, inducing, shape);
        const Lanes weight = task.signal * BTML_LANES(task.values + u * task.stride);
        const Lanes by_number = weight * shape.steepness, by_all = weight * shape.covariance;
        by_signal += by_all;
        for (size_t c = 0; c < task.numbers; c++) {
            const Lanes difference = BTML_LANES(task.group + c * lanes) - inducing[c];
            const Lanes steep = by_number * difference;
            store(BTML_LANES(slopes + c * lanes) - steep * difference, slopes + c * lanes);
            if (by_inducing) by_inducing[u * task.numbers + c] += sum_of(steep);
        }
        for (size_t c = task.numbers; c < task.width; c++) {
            const Lanes loss = by_all * task.penalties[c - task.numbers];
            store(BTML_LANES(slopes + c * lanes) - (BTML_LANES(task.group + c * lanes) == inducing[c] ? Lanes{} : loss),
                  slopes + c * lanes);
        }
    }
    store(BTML_LANES(slopes + task.width * lanes) + by_signal, slopes + task.width * lanes);
}

} // namespace

void find_covariances(const CovarianceTask& task) {
    with_smooth_shape(task.kind, [&]<class Kernel>(std::type_identity<Kernel>) { find<Kernel>(task); });
}

void add_slopes(const CovarianceTask& task, double* slopes, double* by_inducing) {
    with_smooth_shape(task.kind,
                      [&]<class Kernel>(std::type_identity<Kernel>) { add<Kernel>(task, slopes, by_inducing); });
}

} // namespace BTML_LEVEL

} // namespace btml::gp
