// Student's t distribution.
#pragma once

namespace btml {

// Returns −ln of the density at z of the distribution with location 0 and scale 1, whatever the sizes of z and of df,
// which is positive. The same bits on every processor.
double student_t_nll(double z, double df);

} // namespace btml
