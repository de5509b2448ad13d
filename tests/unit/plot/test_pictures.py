"""What stands on the axes of a picture is what it was given; that it can be drawn; whose axes."""

import io

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

import dcomp
from dcomp import plot
from dcomp.errors import InvalidParameter


@pytest.fixture
def axes():
    return Figure(layout="constrained").subplots()


X = np.random.default_rng(0).poisson([[4, 4, 0, 1]] * 9 + [[0, 1, 4, 4]] * 9)


@pytest.fixture(scope="module")
def sampled():
    model = dcomp.GaP(3, algorithm="gibbs", n_chains=2, max_iter=60, n_draws=10, verbose=0)
    return model.fit(X).fit_


@pytest.fixture(scope="module")
def tree():
    return dcomp.TreeDCA(2, 2, max_iter=10, tol=0, verbose=0).fit(X).fit_


OF_A_FIT = {
    "ancestry_bars": {},
    "biplot": {},
    "correlation_boxes": {},
    "correlation_graph": {"least": 0.0},
    "prior_and_posterior": {"X": X},
    "rhats": {},
    "score_distribution": {"rivals": ("gamma", "lognormal", "zipf")},
    "score_intervals": {"X": X},
    "score_scatter": {},
    "top_features": {},
    "traces": {},
}


@pytest.mark.parametrize("name", OF_A_FIT)
def test_pictures_of_a_fit_are_drawn_on_the_axes_given(name, sampled, axes):
    returned = getattr(sampled.plot, name)(ax=axes, **OF_A_FIT[name])
    assert returned is axes
    axes.figure.savefig(io.BytesIO(), format="png")  # with all its texts
    assert axes.has_data()


def test_all_pictures_of_a_fit_are_tested(sampled):
    known = {name for name in dir(sampled.plot) if not name.startswith("_")}
    assert known == {*OF_A_FIT, "tree"}


def test_a_tree_has_a_point_and_a_text_for_each_node(tree, axes):
    tree.plot.tree(ax=axes)
    axes.figure.savefig(io.BytesIO(), format="png")
    assert len([text for text in axes.texts if text.get_text()]) >= tree.n_components


def test_bars_are_probabilities_and_names_those_of_the_largest(sampled, axes):
    plot.top_features(sampled, 1, 4, ax=axes)
    Theta = np.asarray(sampled.Theta)[:, 1]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(np.sort(Theta)[::-1])


def test_points_are_scores(sampled, axes):
    plot.score_scatter(sampled, 2, 0, ax=axes)
    drawn = np.asarray(axes.collections[0].get_offsets())
    assert drawn == pytest.approx(np.asarray(sampled.scores)[:, [2, 0]])


def test_densities_are_scipys(axes):
    plot.gamma_shapes([0.5, 2.0], rate=3.0, ax=axes)
    for line, shape in zip(axes.lines, (0.5, 2.0), strict=True):
        x, y = line.get_data()
        assert y == pytest.approx(stats.gamma(shape, scale=1 / 3).pdf(x))


def test_approximations_are_scipys(axes):
    plot.binomial_approximations(50, 0.1, ax=axes)
    wanted = (stats.binom(50, 0.1).pmf, stats.norm(5, 4.5**0.5).pdf, stats.poisson(5).pmf)
    for line, function in zip(axes.lines, wanted, strict=True):
        x, y = line.get_data()
        assert y == pytest.approx(function(x))


def test_bars_sum_to_one_and_sort_by_group(axes):
    shares = np.array([[0.1, 0.9], [0.7, 0.3], [0.4, 0.6], [0.2, 0.8]])
    plot.ancestry_bars(shares, groups=["b", "a", "b", "a"], ax=axes)
    # Within a group by the component that it has most of: document 3 is the first of a.
    first = axes.collections[0].get_paths()[0].vertices
    assert first[np.isclose(first[:, 0], -0.5), 1].max() == pytest.approx(0.2)
    assert axes.get_ylim() == (0, pytest.approx(1.0))
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b"]


def test_like_components_of_other_k_have_like_colours():
    rng = np.random.default_rng(0)
    two = rng.dirichlet([0.3, 0.3], 30)
    three = np.column_stack([two[:, 1], two[:, 0] * 0.9, two[:, 0] * 0.1])
    above, below = Figure().subplots(2, 1)
    plot.ancestry_bars([two, three], ax=[above, below])

    def colours(ax):
        return {c.get_label(): c.get_facecolor()[0].tolist() for c in ax.collections}

    assert colours(above)["#0"] == colours(below)["#1"]
    assert colours(above)["#1"] == colours(below)["#0"]


def test_grid_is_black_for_one(axes):
    shares = np.array([[1.0, 0.0], [0.25, 0.75]])
    plot.grey_grid(shares, ["x", "y"], ["bloc 0", "bloc 1"], axes, across=True)
    image = axes.images[0]
    assert np.asarray(image.get_array()) == pytest.approx(shares.T)
    assert image.cmap(image.norm(1.0))[:3] == pytest.approx((0, 0, 0), abs=0.01)
    assert image.cmap(image.norm(0.0))[:3] == pytest.approx((1, 1, 1), abs=0.01)


def test_average_precision_is_sklearns(axes):
    from sklearn.metrics import average_precision_score

    rng = np.random.default_rng(1)
    relevant, scores = rng.random(80) < 0.3, rng.normal(size=80)
    plot.precision_recall(scores, relevant, ax=axes)
    said = axes.get_legend().get_texts()[0].get_text()
    assert float(said) == pytest.approx(average_precision_score(relevant, scores), abs=6e-4)


def test_differences_of_confusions_add_up_to_nothing(axes):
    truth, ours, theirs = list("aabbc"), list("aabcc"), list("abbac")
    plot.confusion_differences(truth, ours, theirs, ax=axes)
    table = np.asarray(axes.images[0].get_array())
    assert table.sum(axis=1).tolist() == [0, 0, 0]
    assert table.trace() == 4 - 3


@pytest.mark.parametrize(
    "wrong",
    [
        lambda ax: plot.gamma_shapes([0.0], ax=ax),
        lambda ax: plot.binomial_approximations(10, 1.5, ax=ax),
        lambda ax: plot.confusion_differences(["a"], ["a"], ["a", "b"], ax=ax),
        lambda ax: plot.ancestry_bars([[0.5, 0.5]], groups=["a", "b"], ax=ax),
    ],
)
def test_what_cannot_be_drawn_is_said(wrong, axes):
    with pytest.raises(InvalidParameter):
        wrong(axes)
