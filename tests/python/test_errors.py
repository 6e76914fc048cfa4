"""Failures are exceptions with the library's message."""

from __future__ import annotations

import ctypes
import inspect
import pickle
import re
import threading

import numpy as np
import pytest

import tce


def test_errors_carry_status_name_and_message() -> None:
    with pytest.raises(tce.ArgumentError) as caught:
        tce.ProDMP(tau=-1.0)
    assert caught.value.status == -3
    assert caught.value.name == "TCE_E_VALUE"
    assert "tau" in caught.value.message and "-1" in caught.value.message
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, tce.TceError)
    assert caught.value.message in str(caught.value)


def test_numerical_failures_have_their_class() -> None:
    with pytest.raises(tce.NumericalError) as caught:
        tce.gauss.log_prob(np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((2, 2)))
    assert caught.value.name == "TCE_E_NOT_PD"
    assert isinstance(caught.value, ArithmeticError)


def test_calls_out_of_order_have_their_class() -> None:
    with pytest.raises(tce.StateError):
        tce.Projection("kl", 2, 0.1, 0.1).backward(np.zeros((1, 2)), np.zeros((2, 2)))
    with pytest.raises(tce.StateError):
        tce.Net(2, 1, [4]).backward(np.zeros((1, 1)))


def test_unsupported_combinations_have_their_class() -> None:
    with pytest.raises(tce.UnsupportedError):
        tce.DMP(disable_goal=True)
    with pytest.raises(tce.UnsupportedError):
        tce.DMP().basis([0.1])


def test_missing_files_and_broken_files_have_their_class(tmp_path) -> None:
    with pytest.raises(tce.NotFoundError, match="missing"):
        tce.Store.load(tmp_path / "missing")
    (tmp_path / "broken").write_bytes(b"not a store at all")
    with pytest.raises(tce.CorruptError):
        tce.Store.load(tmp_path / "broken")


def test_too_much_memory_is_a_memory_error() -> None:
    with pytest.raises(MemoryError) as caught:
        tce.Net(2**20, 2**20, [2**20])
    assert caught.value.name == "TCE_E_NOMEM"


def test_an_unknown_keyword_names_the_nearest() -> None:
    with pytest.raises(TypeError, match="'num_bases'.*did you mean 'n_basis'"):
        tce.ProDMP(num_bases=3)
    with pytest.raises(TypeError, match="'mean_bounds'.*'mean_bound'"):
        tce.Projection("kl", 2, 0.1, 0.1, mean_bounds=3)
    with pytest.raises(TypeError, match="'learning_rat'.*'learning_rate'"):
        tce.Net(2, 1, [4]).adam_step(learning_rat=1.0)


@pytest.mark.parametrize("config, message", [
    ({"n_dof": 2.5}, "n_dof: 2.5, expected an integer"), ({"phase": "slow"}, "phase: 'slow', expected one of"),
    ({"weights_scale": [1.0, 2.0]}, r"weights_scale: shape \[2\], expected \[B=5\]"),
    ({"tau": "long"}, "tau: 'long', expected a number"),
    ({"n_dof": 2**40}, "n_dof")])
def test_options_are_checked(config, message) -> None:
    with pytest.raises(ValueError, match=message):
        tce.ProDMP(**config)


def test_a_closed_handle_is_refused() -> None:
    mp = tce.ProDMP()
    mp.close()
    mp.close()
    with pytest.raises(ValueError, match="^ProDMP is closed$"):
        mp.trajectory(np.zeros((1, mp.n_params)), [0.5])
    with tce.Store() as store:
        pass
    with pytest.raises(ValueError, match="^Store is closed$"):
        len(store)
    net = tce.Net(2, 1, [4], random=tce.Random(1))
    net.close()
    with pytest.raises(ValueError, match="^Net is closed$"):
        net.forward(np.zeros((3, 2)))
    projection = tce.Projection("kl", 2, 0.1, 0.1)
    projection.close()
    for n in (1, 3):
        with pytest.raises(ValueError, match="^Projection is closed$"):
            projection.project(np.zeros((n, 2)), np.eye(2), np.zeros((n, 2)), np.eye(2))
    with pytest.raises(ctypes.ArgumentError, match="argument 2"):
        tce._library.lib.tce_store_save(tce.Store(), object())


def test_errors_can_be_pickled() -> None:
    error = tce.ArgumentError(-3, "TCE_E_VALUE", "tau = -1")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is tce.ArgumentError and copy.status == -3 and str(copy) == str(error)


def test_messages_belong_to_their_thread() -> None:
    failures = []

    def work(number: int) -> None:
        for _ in range(200):
            try:
                tce.ProDMP(tau=-float(number))
            except tce.TceError as error:
                if f"-{number}" not in error.message:
                    failures.append(error.message)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# ---- in the names that Python has -----------------------------------------------------------------------------

MAKERS = {
    "ProDMP": (tce.ProDMP, {}), "ProMP": (tce.ProMP, {}), "DMP": (tce.DMP, {}),
    "Projection": (tce.Projection, {"kind": "kl", "dim": 2, "mean_bound": 0.1, "cov_bound": 0.1}),
    "Net": (tce.Net, {"n_in": 2, "n_out": 1}), "Policy": (tce.Policy, {"n_obs": 2, "n_dims": 2, "spread": "exp_clipped"}),
    "Normaliser": (tce.Normaliser, {"n_columns": 2}), "Pool": (tce.Pool, {}),
    "SegmentObjective": (tce.SegmentObjective, {"mp": tce.ProDMP(), "times": [0.1, 0.2], "pairs": [[0, 1]]})}


def options():
    """Every option of every handle that is a number, with how it is made."""
    for kind, (make, given) in MAKERS.items():
        for name, parameter in inspect.signature(make.__init__).parameters.items():
            if any(word in str(parameter.annotation) for word in ("int", "float", "ArrayLike", "Sequence[int]")) and name not in ("mp", "times", "pairs"):
                yield pytest.param(make, given, name, id=f"{kind}-{name}")


@pytest.mark.parametrize("make, given, name", options())
def test_a_wrong_option_is_named_as_python_names_it(make, given, name) -> None:
    value = inspect.signature(make.__init__).parameters[name].annotation
    wrong = [[-7], [2**31]] if "Sequence[int]" in value else [-7.5, float("nan"), float("inf"), -(2**31)]
    said = []
    for one in wrong:
        try:
            make(**{**given, name: one})
        except (ValueError, MemoryError) as reason:
            said.append(str(reason))
    if name in ("goal_scale", "weights_scale", "gain_hidden", "gain_out", "log_std_low", "log_std_high", "max_batch"):
        assert said  # a negative one may have a meaning
    elif not (make is tce.ProMP and name in ("alpha", "alpha_phase")):  # which it does not use
        assert len(said) >= 2
    for sentence in said:
        assert re.search(rf"(?<![\w.]){name}(?![\w(])", sentence) and "options" not in sentence, sentence


def test_arrays_of_a_path_are_named_as_they_were_given() -> None:
    mp = tce.ProDMP(n_dof=1, n_basis=2)
    params, nan = np.zeros((1, 3)), np.full((1, 1), np.nan)
    calls = {
        r"times\[0\] = 100": lambda: mp.trajectory(params, [100.0]), "init_time": lambda: mp.trajectory(params, [0.1], np.nan),
        "init_pos": lambda: mp.trajectory(params, [0.1], 0.0, nan), "init_vel": lambda: mp.acceleration(params, [0.1], 0.0, np.ones((1, 1)), nan)}
    for name, call in calls.items():
        with pytest.raises(tce.ArgumentError, match=rf"^{name}"):
            call()
    for shape, said in (((0, 3), [0.1]), ((1, 3), [])):
        with pytest.raises(tce.ArgumentError, match=r"^E = \d, T = \d, must be >= 1"):
            mp.trajectory(np.zeros(shape), said)


@pytest.mark.parametrize("made", [None, object(), type("Bare", (tce.Env,), {})()])
def test_what_a_factory_makes_is_named_where_it_is_no_environment(made) -> None:
    with pytest.raises(tce.EnvironmentFault, match="the factory made .*, expected a tce.Env that sets spec"):
        tce.Rollout(tce.PythonTask(lambda settings: made), 2)


def test_factors_and_deviations_are_named_as_they_were_given() -> None:
    mean, good, zero = np.zeros((1, 2)), np.eye(2), np.zeros((2, 2))
    deviations = [1.0, -1.0]
    projection = tce.Projection("kl", 2, 0.1, 0.1)
    calls = [
        ("chol[0,0]", lambda: projection.project(mean, zero, mean, good)), ("old_chol[0,0]", lambda: projection.project(mean, good, mean, zero)),
        ("chol[0,0]", lambda: tce.gauss.entropy(zero)), ("std[1]", lambda: tce.gauss.entropy(std=deviations)),
        ("other_chol[0,0]", lambda: tce.gauss.kl(mean, good, mean, zero)), ("other_std[1]", lambda: tce.gauss.kl(mean, None, mean, std=[1, 1], other_std=deviations)),
        ("chol[0,0]", lambda: tce.ProDMP(n_basis=1).condition([(0.5, 1.0, 0.1)], [0.0, 0.0], zero)),
        ("chol[0,0]", lambda: tce.SegmentObjective(tce.ProDMP(n_basis=1), [0.1, 0.2], [[0, 1]]).log_prob(np.zeros((1, 2, 1)), mean, zero))]
    for name, call in calls:
        with pytest.raises(tce.NumericalError) as caught:
            call()
        sentence = caught.value.message.replace("chol[0,0,0]", "chol[0,0]").replace("std[0,1]", "std[1]")
        assert sentence.startswith(name), sentence
