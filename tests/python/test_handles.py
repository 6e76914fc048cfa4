"""Life time of handles: what is closed, copied, shared or forked while it is in use.

Programs that may crash or hang run in an interpreter of their own.
"""

from __future__ import annotations

import copy
import pickle
import threading
import time

import numpy as np
import pytest

import tce
from shared import python
from tce import _library


@pytest.mark.parametrize("order", ["library, environments", "environments, library", "cycle"])
def test_an_environment_outlives_its_closed_library(tasks, order) -> None:
    python("""
        library = tce.TaskLibrary(sys.argv[1])
        task = library["point"]
        instance, rollout, gym = task.create(), tce.Rollout(task, 3), tce.TaskEnv(task)
        library.close()
        with_sentence = ""
        try:
            library["point"]
        except ValueError as reason:
            with_sentence = str(reason)
        assert with_sentence == "TaskLibrary is closed"
        instance.reset(tce.Random(1))
        instance.step([0.1, 0.2], [0.0, 0.0])
        rollout.reset()
        rollout.step(np.zeros((3, 2)))
        gym.reset(seed=1)
        assert task.name == "point" and task.create().spec.n_dof == 2
        if sys.argv[2] == "cycle":
            cycle = [library, task, instance, rollout, gym]
            cycle.append(cycle)
            del library, task, instance, rollout, gym, cycle
            gc.collect()
        elif sys.argv[2].startswith("library"):
            del library, task
            gc.collect()
            instance.step([0.1, 0.2], [0.0, 0.0])
            instance.close()
        """, tasks, order)


def handles():
    """One of each kind of handle, with a text that says how it was made and a result that tells whether another one is the same."""
    mp = tce.ProDMP(n_dof=1, phase="natural", weights_scale=[1.0, 2.0, 3.0], n_basis=3)
    random = np.random.default_rng(1)
    obs, eye = random.normal(size=(5, 2)), np.eye(2)
    projection = tce.Projection("kl", 2, 0.1, cov_bound=0.2, entropy="at_least")
    projection.bounds = 0.3, 0.4
    normaliser = tce.Normaliser(2, divisor="rows_less_one", clip=1.5)
    normaliser.update(obs)
    net, policy = tce.Net(2, 1, [4], random=3), tce.Policy(2, 3, "contextual", [4], random=tce.Random(3))
    net.pass_mse(obs, obs[:, :1])
    net.adam_step(learning_rate=0.1)
    store = tce.Store({"a": obs})
    store["note"] = "text"
    saved = tce.Store()
    policy.save(saved, "p")
    mp.save(saved, "mp")
    objective = tce.SegmentObjective(mp, [0.1, 0.2, 0.3], [[0, 2]], reg=1e-3)

    def trained(net):
        net.pass_mse(obs, obs[:, :1])
        net.adam_step(learning_rate=0.1)
        return net.weights

    return [
        (mp, "ProDMP(n_dof=1, phase='natural', weights_scale=[1.0, 2.0, 3.0], n_basis=3)", lambda x: x.trajectory(np.ones((1, 4)), [0.3]).pos),
        (tce.MovementPrimitive.from_store(saved, "mp"), "MovementPrimitive(kind='prodmp', n_basis=3)", lambda x: x.trajectory(np.ones((1, 4)), [0.3]).pos),
        (store, "Store(a)", lambda x: [x["a"].sum(), len(x["note"])]), (tce.Pool(2), "Pool(n_threads=2)", lambda x: x.n_threads),
        (net, "Net(n_in=2, n_out=1, hidden=[4])", trained), (tce.Net(2, 1), "Net(n_in=2, n_out=1)", lambda x: x.n_weights),
        (policy, "Policy(n_obs=2, n_dims=3, form='contextual', hidden=[4])", lambda x: x.predict(obs).chol),
        (tce.Policy.from_store(saved, "p"), "Policy(n_obs=2, n_dims=3)", lambda x: x.predict(obs).chol),
        (normaliser, "Normaliser(n_columns=2, divisor='rows_less_one', clip=1.5)", lambda x: x.apply(obs)),
        (projection, "Projection(kind='kl', dim=2, mean_bound=0.3, cov_bound=0.4, entropy='at_least')",
         lambda x: x.project(obs, eye, 0.1 * obs, 2.0 * eye, entropy_bound=-3.0).chol),
        (objective, f"SegmentObjective(mp={mp!r}, times=[0.1, 0.2, 0.3], pairs=[[0, 2]], reg=0.001)",
         lambda x: x.log_prob(np.ones((2, 3, 1)), np.ones((2, 4)), np.eye(4)))]


def test_numbers_of_numpy_are_shown_as_numbers() -> None:
    assert repr(tce.ProDMP(n_dof=np.int64(2), tau=np.float32(0.5))) == "ProDMP(n_dof=2, tau=0.5)"


@pytest.mark.parametrize("handle, text, result", handles(), ids=lambda value: type(value).__name__ if isinstance(value, tce._handle.Handle) else "")
def test_a_handle_says_how_it_was_made_and_is_copied_whole(handle, text, result) -> None:
    assert repr(handle) == text
    others = [pickle.loads(pickle.dumps(handle)), copy.copy(handle), copy.deepcopy(handle)]
    want = result(handle)
    for other in others:
        assert repr(other) == text and other._owned is not handle._owned
        np.testing.assert_array_equal(result(other), want)
        other.close()
        assert repr(other).endswith("closed)")
        with pytest.raises(ValueError, match="is closed"):
            pickle.dumps(other)
    np.testing.assert_array_equal(result(handle) if not isinstance(handle, tce.Net) else want, want)


def test_objects_that_are_pickled_together_share_what_they_shared() -> None:
    pool = tce.Pool(2)
    net, policy = pickle.loads(pickle.dumps((tce.Net(2, 1, pool=pool, random=1), tce.Policy(2, 1, pool=pool, random=1))))
    assert net.pool is policy.pool and net.pool is not pool
    assert "pool=Pool(n_threads=2)" in repr(net)


def test_a_task_is_found_again_and_environments_are_not_copied(tasks) -> None:
    task = tce.TaskLibrary(tasks)["point"]
    other = pickle.loads(pickle.dumps(task))
    assert other.name == "point" and other.create().reset(tce.Random(3)).obs.tolist() == task.create().reset(tce.Random(3)).obs.tolist()
    assert repr(tce.TaskLibrary(tasks)) == f"TaskLibrary(path={str(tasks)!r})" and repr(task.create()) == "Instance(task=Task('point'))"
    assert repr(tce.Rollout(task, 2)) == "Rollout(task=Task('point'), n_envs=2)" and "state" in repr(tce.Random(1))
    for thing in (task.create(), tce.Rollout(task, 2)):
        for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="cannot be copied or pickled"):
                duplicate(thing)


def growing(what):
    """An object that grows, a function that gives its result for n rows, and the C function that makes its handles."""
    random = tce.Random(1)
    if what == "projection":
        thing = tce.Projection("kl", 2, 0.1, 0.1)
        return thing, lambda n: thing.project(np.ones((n, 2)), np.eye(2), np.zeros((n, 2)), np.eye(2))[0], "tce_trpl_create"
    if what == "net":
        thing = tce.Net(2, 1, [4], random=random)
        return thing, lambda n: thing.forward(np.ones((n, 2))), "tce_net_create"
    if what == "objective":
        mp = tce.ProDMP(n_dof=1)
        thing = tce.SegmentObjective(mp, [0.1, 0.2, 0.3], [[0, 2]])
        return thing, lambda n: thing.log_prob(np.zeros((n, 3, 1)), np.zeros((n, 6)), np.eye(6)), "tce_segment_create"
    thing = tce.Policy(2, 3, "contextual", [4], random=random)
    if what == "policy":
        return thing, lambda n: thing.predict(np.ones((n, 2)))[0], "tce_policy_create"
    store = tce.Store()
    thing.save(store, "here")
    restored = tce.Policy.from_store(store, "here")
    return restored, lambda n: restored.predict(np.ones((n, 2)))[0], "tce_policy_create_from"


@pytest.mark.parametrize("what", ["projection", "net", "policy", "restored policy", "objective"])
def test_a_handle_that_cannot_grow_stays_as_it_was(what, monkeypatch) -> None:
    thing, use, create = growing(what)
    before = use(3)

    def fail(*arguments):
        raise tce.OutOfMemoryError(-10, "TCE_E_NOMEM", "no room")

    with monkeypatch.context() as patch:
        patch.setattr(_library.lib, create, fail)
        for _ in range(2):
            with pytest.raises(tce.OutOfMemoryError):
                use(40)
        np.testing.assert_array_equal(use(3), before)
    assert len(use(40)) == 40
    thing.close()
    for n in (3, 100):
        with pytest.raises(ValueError, match=f"^{type(thing).__name__} is closed$"):
            use(n)


@pytest.mark.parametrize("what", ["projection", "policy", "objective"])
def test_threads_let_a_handle_grow_one_at_a_time(what, monkeypatch) -> None:
    _, use, create = growing(what)
    want = {n: use(n) for n in range(1, 9)}
    thing, use, create = growing(what)
    function, inside, most, wrong = getattr(_library.lib, create), [], [], []

    def slowly(*arguments):
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.02)
        try:
            return function(*arguments)
        finally:
            inside.pop()

    def work(n):
        if not np.array_equal(use(n), want[n]):
            wrong.append(n)

    monkeypatch.setattr(_library.lib, create, slowly)
    threads = [threading.Thread(target=work, args=(n,)) for n in want]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1 and not wrong


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, tce.Random.copy, lambda r: pickle.loads(pickle.dumps(r))])
def test_a_copied_stream_has_a_state_of_its_own(duplicate) -> None:
    random = tce.Random(7)
    random.normals(3)
    other = duplicate(random)
    want = random.normals(5)
    np.testing.assert_array_equal(other.normals(5), want)
    assert other.state == random.state
    other.bits()
    assert other.state != random.state


def test_objects_use_their_pool_after_it_was_closed() -> None:
    python("""
        pool, mp = tce.Pool(3), tce.ProDMP(n_dof=1)
        rollout = tce.Rollout(tce.PythonTask(Line), 8, pool=pool)
        net = tce.Net(3, 1, [8], pool=pool, random=tce.Random(1))
        policy = tce.Policy(3, 4, "contextual", pool=pool, random=tce.Random(1))
        store = tce.Store()
        policy.save(store, "policy")
        loaded = tce.Policy.from_store(store, "policy", pool=pool)
        objective = tce.SegmentObjective(mp, np.arange(1, 21) * 0.05, [[0, 5], [5, 19]], pool=pool)
        projection = tce.Projection("kl", 4, 0.1, 0.1, pool=pool)
        pool.close()
        mp.close()
        # batches that are larger than all before make their C handles again
        rollout.reset()
        run(rollout)
        net.forward(np.ones((3000, 3)))
        for one in (policy, loaded):
            assert one.predict(np.ones((500, 3)))[1].shape == (500, 4, 4)
        P = 6
        objective.log_prob(np.zeros((40, 20, 1)), np.zeros((40, P)), np.broadcast_to(np.eye(P), (40, P, P)), np.zeros((40, 1)), np.zeros((40, 1)))
        many = np.broadcast_to(np.eye(4), (50, 4, 4))
        projection.project(np.ones((50, 4)), many, np.zeros((50, 4)), many)
        try:
            tce.Net(3, 1, [8], pool=pool)
        except ValueError as reason:
            assert str(reason) == "Pool is closed"
        else:
            raise AssertionError("a closed pool was taken")
        """)


def test_a_handle_closed_during_a_call_is_freed_after_it() -> None:
    python("""
        closed, stepping = [], threading.Event()

        class Slow(Line):
            def step(self, pos, vel):
                stepping.set()
                time.sleep(0.02)
                return super().step(pos, vel)
            def close(self):
                closed.append(1)

        pool = tce.Pool(2)
        rollout = tce.Rollout(tce.PythonTask(Slow), 4, pool=pool)
        rollout.reset()
        lengths = []
        thread = threading.Thread(target=lambda: lengths.append(run(rollout, 20).lengths.tolist()))
        thread.start()
        stepping.wait()
        rollout.close()
        pool.close()
        assert not closed
        thread.join()
        assert lengths == [[20] * 4] and len(closed) == 4, (lengths, closed)

        # calls that only read a handle take no lock
        mp = tce.ProDMP(n_dof=2, n_basis=10)
        params, times = np.ones((4000, mp.n_params)), np.linspace(0.0, 1.0, 100)
        for _ in range(5):
            mp = tce.ProDMP(n_dof=2, n_basis=10)
            thread = threading.Thread(target=lambda: mp.trajectory(params, times))
            thread.start()
            time.sleep(0.001)
            mp.close()
            thread.join()
        """)


def test_a_pool_inside_itself_and_an_environment_that_uses_the_pool_of_its_rollout() -> None:
    out = python("""
        pool = tce.Pool(3)
        done = []
        def outer(chunk, begin, end, worker):
            pool.run(4, 1, lambda *inner: done.append(inner))
        pool.run(6, 1, outer)
        assert len(done) == 24

        policy = tce.Policy(1, 2, "contextual", pool=pool, max_batch=600, random=tce.Random(1))
        want = policy.predict(np.zeros((600, 1)))[0]

        class Thinking(Line):
            def step(self, pos, vel):
                assert (policy.predict(np.zeros((600, 1)))[0] == want).all()
                return super().step(pos, vel)

        rollout = tce.Rollout(tce.PythonTask(Thinking), 6, pool=pool)
        rollout.reset()
        print(run(rollout, 3).lengths.tolist())

        # another thread that uses the same policy waits for the pool, but does not keep the policy from the environments
        stop = threading.Event()
        def other():
            while not stop.is_set():
                policy.predict(np.zeros((600, 1)))
        thread = threading.Thread(target=other)
        thread.start()
        for _ in range(10):
            rollout.reset()
            run(rollout, 3)
            pool.run(3, 1, lambda *chunk: policy.predict(np.zeros((600, 1))))
        stop.set()
        thread.join()
        """)
    assert out == "[3, 3, 3, 3, 3, 3]\n"


def test_threads_share_a_pool() -> None:
    python("""
        pool = tce.Pool(3)
        wrong = []
        def work(seed):
            for _ in range(20):
                counts = [0] * 20
                def item(chunk, begin, end, worker):
                    counts[begin] += 1
                pool.run(20, 1, item)
                if counts != [1] * 20:
                    wrong.append(counts)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert not wrong, wrong
        """)


def test_a_forked_child_ends_with_a_pool() -> None:
    python("""
        pool = tce.Pool(3)
        net = tce.Net(3, 1, [8], pool=pool, max_batch=600, random=tce.Random(1))
        want = net.forward(np.ones((600, 3)))
        child = os.fork()
        if child == 0:
            signal.alarm(20)  # ends a child that hangs
            same = (net.forward(np.ones((600, 3))) == want).all()
            net.close()
            pool.close()
            os._exit(0 if same else 3)
        assert os.waitpid(child, 0)[1] == 0
        """)


def test_a_forked_child_does_not_wait_for_threads_that_it_lacks() -> None:
    python("""
        pool, inside = tce.Pool(2), threading.Event()

        class Slow(Line):
            def reset(self, random):
                inside.set()
                time.sleep(1.0)
                return super().reset(random)

        rollout = tce.Rollout(tce.PythonTask(Slow), pool=pool)
        thread = threading.Thread(target=rollout.reset)
        thread.start()
        inside.wait()
        child = os.fork()
        if child == 0:
            signal.alarm(20)  # ends a child that hangs
            done = []
            pool.run(3, 1, lambda chunk, begin, end, worker: done.append(chunk))
            try:
                rollout.reset()
            except tce.StateError as reason:
                done.append(str(reason))
            expected = "Rollout was in use by another thread when this process was forked: make a new one in the child [TCE_E_STATE]"
            os._exit(0 if done == [0, 1, 2, expected] else 3)
        thread.join()
        rollout.reset()
        assert os.waitpid(child, 0)[1] == 0
        """)


def test_a_call_from_inside_the_same_handle_is_refused() -> None:
    python("""
        class Own(Line):
            def step(self, pos, vel):
                rollout.reset()

        for pool in (None, tce.Pool(3)):
            rollout = tce.Rollout(tce.PythonTask(Own), 2, pool=pool)
            rollout.reset()
            signal.alarm(20)  # ends a process that hangs
            try:
                run(rollout)
            except tce.StateError as reason:
                assert "Rollout is busy with the call that this one comes from" in str(reason), reason
            else:
                raise AssertionError("not refused")
            signal.alarm(0)
        """)


def test_a_signal_handler_may_use_the_pool_that_it_interrupts() -> None:
    python("""
        pool, calls = tce.Pool(2), []

        def handler(number, frame):
            pool.run(3, 1, lambda *unused: calls.append(1))

        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        faulthandler.dump_traceback_later(20, exit=True)
        start = time.time()
        while time.time() - start < 1.0:
            pool.run(3, 1, lambda *unused: None)
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert len(calls) >= 3 and len(calls) % 3 == 0
        """)


def test_a_pool_refuses_more_items_than_can_be_counted() -> None:
    with tce.Pool(1) as pool, pytest.raises(ValueError, match="n_items: 18446744073709551619, expected 0 to"):
        pool.run(2**64 + 3, 1, lambda *unused: None)
