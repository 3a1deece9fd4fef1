#pragma once
// Included first by every file of a build with mutants (compiler option -include): which of them is
// on.

#ifdef __cplusplus
extern "C" int cress_mutant_on;                   // 0: none
extern "C" unsigned char* cress_mutants_reached;  // by id: 1 once the place was passed

namespace cress_mutants {

inline bool reach(int id) {
  cress_mutants_reached[id] = 1;
  return id == cress_mutant_on;
}

/// Whether mutant `id` is the one that is on; what the compiler computes stays as it was.
constexpr bool on(int id) { return __builtin_is_constant_evaluated() ? false : reach(id); }

}  // namespace cress_mutants
#endif
