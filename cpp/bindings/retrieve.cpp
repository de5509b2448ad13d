#include "retrieve.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "checks.hpp"
#include "dcomp/retrieve.hpp"
#include "stop.hpp"

namespace dcomp::bindings {

namespace {

using Longs = Vector<const std::int64_t>;
using Ints = Vector<const std::int32_t>;
using Floats = Vector<const float>;
using Table = std::optional<Matrix<const float>>;

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> new_vector(std::size_t n) {
  auto data = std::make_unique<T[]>(n);
  nb::capsule owner(data.get(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return {data.release(), {n}, owner};
}

ScoreKind kind_of(const Call& call, const std::string& name) {
  if (name == "bm25") return ScoreKind::bm25;
  if (name == "tf-idf") return ScoreKind::tf_idf;
  if (name == "dirichlet") return ScoreKind::dirichlet;
  if (name == "jelinek-mercer") return ScoreKind::jelinek;
  if (name == "mixture") return ScoreKind::mixture;
  call.fail("kind must be bm25, tf-idf, dirichlet, jelinek-mercer or mixture; got " + name);
}

// Keeps the arrays alive. Their lengths are checked here, their numbers as they are read: a mapped
// file is not read through for one query.
class Lists {
 public:
  Lists(std::int64_t block, Longs list_start, Ints entry_block, Longs entry_start,
        Floats entry_count, Floats entry_ratio, Floats entry_length, Ints document, Floats count,
        Floats length, Floats norm, Table shares, Table envelope)
      : list_start_(list_start),
        entry_block_(entry_block),
        entry_start_(entry_start),
        entry_count_(entry_count),
        entry_ratio_(entry_ratio),
        entry_length_(entry_length),
        document_(document),
        count_(count),
        length_(length),
        norm_(norm),
        shares_(shares),
        envelope_(envelope) {
    const Call call("PostingLists");
    call.require(block >= 1 && block <= kMostInBlock, "block must lie in [1, 256]", block);
    call.require(list_start.size() >= 2, "list_start must hold features + 1 numbers, 2 or more");
    call.require(length.size() >= 1 && length.size() < std::size_t{1} << 31,
                 "documents must be 1 or more, and fewer than 2^31");
    const auto E = static_cast<std::int64_t>(entry_block.size());
    const auto I = static_cast<std::int64_t>(length.size());
    call.shape("entry_start", entry_start, {E + 1}, "entries + 1");
    call.shape("entry_count", entry_count, {E}, "entries");
    call.shape("entry_ratio", entry_ratio, {E}, "entries");
    call.shape("entry_length", entry_length, {E}, "entries");
    call.shape("count", count, {static_cast<std::int64_t>(document.size())}, "postings");
    call.shape("norm", norm, {I}, "documents");
    view_ = {I,
             static_cast<std::int64_t>(list_start.size()) - 1,
             E,
             static_cast<std::int64_t>(document.size()),
             block,
             list_start.data(),
             entry_block.data(),
             entry_start.data(),
             entry_count.data(),
             entry_ratio.data(),
             entry_length.data(),
             document.data(),
             count.data(),
             length.data(),
             norm.data()};
    call.require(shares.has_value() == envelope.has_value(),
                 "shares and envelope must be given together");
    if (!shares) return;
    view_.K = static_cast<std::int64_t>(shares->shape(1));
    call.components(view_.K);
    call.shape("shares", shares, {I, view_.K}, "documents, K");
    call.shape("envelope", envelope, {view_.n_blocks(), view_.K}, "blocks, K");
    view_.shares = shares->data();
    view_.envelope = envelope->data();
  }

  nb::tuple top(const std::string& kind, Ints term, Vector<const double> weight,
                Vector<const double> background, Vector<const double> parameters, Table Theta,
                std::int64_t n) const {
    const Call call("top");
    const Question question = asked(call, kind, term, weight, background, parameters, Theta);
    call.require(n >= 1 && n <= view_.n_docs, "n must lie in [1, documents]", n);
    BestDocuments best;
    guarded(call, [&] { best = best_documents(view_, question, n); });
    const auto documents = new_vector<std::int32_t>(best.found.size());
    const auto scores = new_vector<double>(best.found.size());
    for (std::size_t i = 0; i < best.found.size(); ++i) {
      documents.data()[i] = best.found[i].document;
      scores.data()[i] = best.found[i].score;
    }
    return nb::make_tuple(documents, scores, best.n_evaluated);
  }

  void score(const std::string& kind, Ints term, Vector<const double> weight,
             Vector<const double> background, Vector<const double> parameters, Table Theta,
             Vector<double> out, Vector<std::uint8_t> matches) const {
    const Call call("score");
    const Question question = asked(call, kind, term, weight, background, parameters, Theta);
    call.shape("out", out, {view_.n_docs}, "documents");
    call.shape("matches", matches, {view_.n_docs}, "documents");
    call.apart({span("out", out), span("matches", matches), span("term", term),
                span("weight", weight), span("background", background), span("Theta", Theta),
                span("parameters", parameters)});
    guarded(call, [&] { all_scores(view_, question, out.data(), matches.data()); });
  }

 private:
  template <class Work>
  static void guarded(const Call& call, const Work& work) {
    std::string problem;
    {
      const Released release;
      try {
        work();
      } catch (const BadLists& error) {
        problem = error.what();
      }
    }
    if (!problem.empty()) call.fail("the lists are damaged: " + problem);
  }

  Question asked(const Call& call, const std::string& kind, const Ints& term,
                 const Vector<const double>& weight, const Vector<const double>& background,
                 const Vector<const double>& parameters, const Table& Theta) const {
    const auto n = static_cast<std::int64_t>(term.size());
    call.require(n >= 1, "term must hold one feature or more");
    call.within("term", term, 0, static_cast<std::int32_t>(view_.n_features - 1), "features");
    call.shape("weight", weight, {n}, "terms");
    call.shape("background", background, {n}, "terms");
    call.shape("parameters", parameters, {3}, "three, of which the rest are 0");
    call.positive("weight", weight);
    call.not_negative("parameters", parameters);
    Question question{kind_of(call, kind), n, term.data(), weight.data(), background.data()};
    question.first = parameters.data()[0];
    question.second = parameters.data()[1];
    question.third = parameters.data()[2];
    require_parameters(call, question);
    const bool mixed = question.kind == ScoreKind::mixture;
    const bool divides =
        question.kind == ScoreKind::dirichlet || question.kind == ScoreKind::jelinek;
    if (divides)
      call.positive("background", background);
    else
      call.not_negative("background", background);
    call.require(mixed == Theta.has_value(), "Theta must be given for a mixture, and only then");
    if (!mixed) return question;
    call.require(view_.shares != nullptr, "a mixture needs lists with shares of components");
    call.shape("Theta", Theta, {n, view_.K}, "terms, K");
    call.not_negative("Theta", *Theta);
    question.Theta = Theta->data();
    return question;
  }

  static void require_parameters(const Call& call, const Question& q) {
    if (q.kind == ScoreKind::bm25)
      call.require(q.second <= 1 && q.third > 0, "b must lie in [0, 1], the average above 0");
    if (q.kind == ScoreKind::dirichlet) call.require(q.first > 0, "mu must be positive");
    if (q.kind == ScoreKind::jelinek)
      call.require(q.first > 0 && q.first <= 1, "lambda must lie in (0, 1]");
  }

  Longs list_start_;
  Ints entry_block_;
  Longs entry_start_;
  Floats entry_count_, entry_ratio_, entry_length_;
  Ints document_;
  Floats count_, length_, norm_;
  Table shares_, envelope_;
  PostingLists view_;
};

}  // namespace

void define_retrieve(nb::module_& m) {
  nb::class_<Lists>(m, "PostingLists")
      .def(nb::init<std::int64_t, Longs, Ints, Longs, Floats, Floats, Floats, Ints, Floats, Floats,
                    Floats, Table, Table>(),
           nb::arg("block"), nb::arg("list_start").noconvert(), nb::arg("entry_block").noconvert(),
           nb::arg("entry_start").noconvert(), nb::arg("entry_count").noconvert(),
           nb::arg("entry_ratio").noconvert(), nb::arg("entry_length").noconvert(),
           nb::arg("document").noconvert(), nb::arg("count").noconvert(),
           nb::arg("length").noconvert(), nb::arg("norm").noconvert(),
           nb::arg("shares").noconvert() = nb::none(), nb::arg("envelope").noconvert() = nb::none())
      .def("top", &Lists::top, nb::arg("kind"), nb::arg("term").noconvert(),
           nb::arg("weight").noconvert(), nb::arg("background").noconvert(),
           nb::arg("parameters").noconvert(), nb::arg("Theta").noconvert().none(), nb::arg("n"))
      .def("score", &Lists::score, nb::arg("kind"), nb::arg("term").noconvert(),
           nb::arg("weight").noconvert(), nb::arg("background").noconvert(),
           nb::arg("parameters").noconvert(), nb::arg("Theta").noconvert().none(),
           nb::arg("out").noconvert(), nb::arg("matches").noconvert());
}

}  // namespace dcomp::bindings
