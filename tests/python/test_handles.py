"""Life time of handles: what is closed, copied, shared or forked while it is in use.

Programs that may crash or hang run in an interpreter of their own.
"""

from __future__ import annotations

import copy
import pickle

import pytest

import tce
from shared import python


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
    mp = tce.ProDMP(num_dof=1)
    return [
        mp, tce.Store(), tce.Pool(2), tce.Net(2, 1, [4]), tce.Policy(2, 3), tce.Critic(2),
        tce.Projection("kl", 2, 0.1, 0.1)]


@pytest.mark.parametrize("handle", handles(), ids=lambda handle: type(handle).__name__)
def test_a_handle_is_not_copied_or_pickled(handle) -> None:
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=f"^{type(handle).__name__} cannot be copied or pickled: it is a handle of the C library"):
            duplicate(handle)


def test_environments_are_not_copied_or_pickled(tasks) -> None:
    task = tce.TaskLibrary(tasks)["point"]
    for thing in (task.create(), tce.Rollout(task, 2)):
        for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="cannot be copied or pickled"):
                duplicate(thing)


def test_objects_use_their_pool_after_it_was_closed() -> None:
    python("""
        pool, mp = tce.Pool(3), tce.ProDMP(num_dof=1)
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
        mp = tce.ProDMP(num_dof=2, num_basis=10)
        params, times = np.ones((4000, mp.num_params)), np.linspace(0.0, 1.0, 100)
        for _ in range(5):
            mp = tce.ProDMP(num_dof=2, num_basis=10)
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
