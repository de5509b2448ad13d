// Splitting the tokens of documents, every document by random numbers of its own: what becomes of a
// document does not depend on which others it comes with.
#pragma once

#include <cstdint>

#include "dcomp/counts.hpp"

namespace dcomp {

// A number for each document that depends on its counts alone.
void content_keys(const CsrView& W, std::uint64_t* key, int n_threads);

// first[e] ~ Binomial(W.data[e], fraction) for every entry, with the stream that (seed, key of the
// document) names.
void split_tokens(const CsrView& W, const std::uint64_t* key, double fraction, std::uint64_t seed,
                  std::int32_t* first, int n_threads);

// The same of fractional counts: first[e] = W.weight[e] B with a share B ~ Beta(f w, (1 - f) w).
// Its mean is that of a Binomial and its variance w / (w + 1) times that: large counts are divided
// as whole ones are, small ones go nearly whole to one side. Fixed shares would not do: each part
// would then tell all of the other.
void split_weights(const CsrView& W, const std::uint64_t* key, double fraction, std::uint64_t seed,
                   double* first, int n_threads);

// The first counts of a direct sampler: every token given to one of K components evenly, with a
// stream for each document. c (n_docs, K) and n (n_features, K) must be zero.
void start_counts(const CsrView& W, std::int64_t K, std::uint64_t seed, std::int32_t* c,
                  std::int32_t* n);

}  // namespace dcomp
