// Direct Gibbs sampling as a library, and the likelihoods of counts that both samplers report.
#pragma once

#include "dcomp/count_table.hpp"
#include "dcomp/gamma_view.hpp"
#include "dcomp/kernels/args.hpp"
#include "dcomp/rng.hpp"
#include "dcomp/score_prior.hpp"

namespace dcomp {

struct SamplePass;
struct ScorePass;

// All documents once; returns the sum of log p(w | scores, Theta).
double sample_documents(const SamplePass& pass, int n_threads);

// The scores of all documents given c, into pass.out.
void draw_scores(const ScorePass& pass, int n_threads);

// Theta ~ Dirichlet(gamma + n) per column and block, as weights: rows scaled to a largest value
// of 1 with the scale's log beside. Theta (J, padded), log_scale (J).
void draw_loadings(const Rows<const std::int32_t>& n, const GammaView& gamma,
                   const std::int32_t* block, std::int64_t n_blocks, std::uint64_t seed,
                   std::uint32_t sweep, Purpose purpose, const Rows<float>& Theta,
                   double* log_scale, int n_threads);

// log E[prod theta^n]: the loadings integrated out. component[k]: of column k of n; null where it
// is k.
double log_loading_moments(const CountView& n, const GammaView& gamma, const std::int32_t* block,
                           std::int64_t n_blocks, int n_threads,
                           const std::int32_t* component = nullptr);

// sum_i log E[prod score^c e^(-e score)]: the scores integrated out (MODELS.md section 2).
// component[k]: of column k of c; null where it is k.
double log_score_moments(const CountView& c, const ScorePrior& prior, const std::int32_t* component,
                         int n_threads);

// The same under Dirichlet(a).
double log_urn_moments(const CountView& c, const std::vector<double>& a, int n_threads);

// out_ik += E[score_k | c_i], where that is not linear in c.
bool has_score_means(const ScorePrior& prior);
void add_score_means(const CountView& c, const ScorePrior& prior, const std::int32_t* component,
                     float* out, int n_threads);

}  // namespace dcomp
