"""KeyboardInterrupt, SystemExit and Ctrl-C during calls of C that run Python code, and during long ones that run none."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tce
from shared import python


class Counting(tce.Env):
    """Takes many steps; one of the environments raises something."""

    spec = tce.EnvSpec(n_obs=1, n_dof=1, n_steps=1000, dt=0.1, n_action=1)
    steps = 0
    raises: object = None

    def __init__(self, settings=None) -> None:
        pass

    def reset(self, random):
        if self.raises == "reset":
            raise KeyboardInterrupt
        return [0.0], [0.0], [0.0]

    def step(self, pos, vel):
        Counting.steps += 1
        if pos[0] == 1.0:
            raise self.raises
        return pos, 0.0

    step_action = lambda self, action: self.step(action, action)


def counting(raises: object) -> tce.PythonTask:
    Counting.steps, Counting.raises = 0, raises
    return tce.PythonTask(Counting)


@pytest.mark.parametrize("threads", [None, 1, 3])
@pytest.mark.parametrize("on_fault", ["fail", "drop"])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_in_an_environment_ends_the_call(threads, on_fault, kind) -> None:
    pool = None if threads is None else tce.Pool(threads)
    rollout = tce.Rollout(counting(kind), 12, on_fault=on_fault, pool=pool)
    path = np.zeros((12, 1000, 1))
    path[0, 5] = 1.0
    rollout.reset()
    with pytest.raises(kind):
        rollout.run(path, path)
    # environments that were under way end at their next step, the others are not started
    assert Counting.steps < 6 * 1000
    rollout.reset()
    assert rollout.run(np.zeros((12, 3, 1)), np.zeros((12, 3, 1))).lengths.tolist() == [3] * 12

    rollout.reset()
    Counting.steps = 0
    with pytest.raises(kind):
        rollout.step(np.ones((12, 1)))
    assert Counting.steps <= (threads or 1)


def test_an_interrupt_in_reset_in_the_factory_and_in_a_single_environment() -> None:
    rollout = tce.Rollout(counting("reset"), 3, on_fault="drop")
    with pytest.raises(KeyboardInterrupt):
        rollout.reset()

    def factory(settings):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tce.Rollout(tce.PythonTask(factory), 2)
    with pytest.raises(KeyboardInterrupt):
        tce.PythonTask(factory).create()
    instance = counting(KeyboardInterrupt).create()
    instance.reset(tce.Random(1))
    with pytest.raises(KeyboardInterrupt):
        instance.step([1.0], [0.0])
    assert instance.step([0.0], [0.0]).reward == 0.0
    with pytest.raises(KeyboardInterrupt):
        tce.check_env(counting("reset"))


def test_an_interrupt_ends_the_work_of_a_pool_and_of_a_loss() -> None:
    done = []

    def work(chunk, begin, end, worker):
        if chunk == 0:
            raise KeyboardInterrupt
        done.append(chunk)

    with pytest.raises(KeyboardInterrupt):
        tce.Pool(1).run(100, 1, work)
    assert not done

    def loss(begin, end, out):
        done.append(begin)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tce.Net(2, 1, [4], random=tce.Random(1), max_batch=4096).pass_loss(np.zeros((4096, 2)), loss)
    assert len(done) == 1


def test_rollouts_of_one_task_keep_their_exceptions_apart() -> None:
    task = counting(RuntimeError("mine"))
    wrong = []

    def work(number: int) -> None:
        rollout = tce.Rollout(task, 2)
        path = np.full((2, 3, 1), float(number))
        for _ in range(300):
            rollout.reset()
            try:
                rollout.run(path, path)
                wrong.extend([number] * (number == 1))
            except tce.EnvironmentFault as fault:
                if number != 1 or str(fault.__cause__) != "mine":
                    wrong.append((number, fault.__cause__))

    threads = [threading.Thread(target=work, args=(i,)) for i in (0, 1, 0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ---- the signal itself -------------------------------------------------------------------------------------------

@pytest.mark.parametrize("threads", [0, 1, 3])
def test_ctrl_c_ends_episodes_of_python_environments(threads) -> None:
    python("""
        class Slow(Line):
            def step(self, pos, vel):
                time.sleep(0.01)
                return super().step(pos, vel)

        pool = tce.Pool(int(sys.argv[1])) if sys.argv[1] != "0" else None
        rollout = tce.Rollout(tce.PythonTask(Slow), 3, pool=pool, on_fault="drop")
        rollout.reset()
        assert interrupted(0.2, run, rollout, 2000) < 5.0
        rollout.reset()
        assert run(rollout, 2).lengths.tolist() == [2] * 3
        """, threads)


def test_ctrl_c_is_never_lost_between_c_and_python() -> None:
    python("""
        rollout = tce.Rollout(tce.PythonTask(Line), 2)
        for i in range(40):
            rollout.reset()
            assert interrupted(0.002 + 0.0001 * i, run, rollout, 200000) < 5.0
        instance = tce.PythonTask(Line).create()
        def steps():
            instance.reset(tce.Random(1))
            while True:
                instance.step([0.0], [0.0])
        for i in range(20):
            assert interrupted(0.002 + 0.0001 * i, steps) < 5.0
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        """)


def test_ctrl_c_does_not_wait_for_episodes_in_c() -> None:
    python("""
        # a task that is not a PythonTask, as those of libraries: here its step sleeps
        import ctypes
        from tce._declarations import EnvVtableCallbacks, TCE_OK
        ended = threading.Event()
        count = []

        @EnvVtableCallbacks["step"]
        def step(instance, pos, vel, obs, result):
            time.sleep(0.002)
            ctypes.c_double.from_address(obs).value = 0.0
            count.append(1)
            if len(count) == 1000:
                ended.set()
            return TCE_OK

        inner = tce.PythonTask(Line)
        inner._table.step = ctypes.cast(step, ctypes.c_void_p).value
        task = tce.Task(inner._vtable, keep=inner)
        rollout = tce.Rollout(task, 1)
        rollout.reset()
        assert interrupted(0.1, run, rollout, 1000) < 1.5
        assert not ended.is_set()
        # the call continues to its end, and the next one waits for it
        rollout.reset()
        assert ended.is_set()
        """)


def test_a_handler_of_the_program_is_kept() -> None:
    python("""
        seen = []
        def handler(number, frame):
            seen.append(number)
        signal.signal(signal.SIGINT, handler)
        rollout = tce.Rollout(tce.PythonTask(Line), 2)
        rollout.reset()
        threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()
        while not seen:
            assert run(rollout, 2000).lengths.tolist() == [2000] * 2
            rollout.reset()
        assert signal.getsignal(signal.SIGINT) is handler
        """)


def test_a_turn_that_an_interrupt_cut_off_does_not_block_its_handle() -> None:
    instance = counting(None).create()
    instance._lock.__enter__()  # as Ctrl-C leaves it when it comes before the call has begun
    instance.reset(tce.Random(1))
    instance._lock._lock.acquire()  # or half-way into the lock
    other = threading.Thread(target=instance.step, args=([0.0], [0.0]))
    instance.step([0.0], [0.0])
    other.start()
    other.join(10.0)
    assert not other.is_alive()
