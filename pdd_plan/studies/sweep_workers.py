"""Where the points of a sweep are planned: in this process, in several, or on a Dask cluster."""

from __future__ import annotations

import pickle
import re
import signal
import socket
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any, Protocol

from pdd_plan.errors import InputError, Issue, SolverError
from pdd_plan.studies.sweep_outcome import Outcome, outcome_of

if TYPE_CHECKING:
    from pdd_plan.fleet.shared_plan import AnyPlan
    from pdd_plan.scenario import Question
    from pdd_plan.studies.plan_options import PlanOptions

    Planner = Callable[[Question, PlanOptions], AnyPlan]

Done = tuple[str, Outcome, float]
"""Key of a point, its outcome, and the seconds it took."""
Tasks = Mapping[str, bytes]
"""Pickled scenario and options by the key of the point."""
CONNECT_S = 10.0
"""How long to wait for a scheduler [s]."""
KILLED = "the process that planned it was killed; it may have run out of memory"
_LIMIT = re.compile(r"(services\.[^.]+\.)?slo\.")
"""How the path of a limit begins, of the scenario or of one of its services."""


def plan_point(question: Question, options: PlanOptions) -> AnyPlan:
    """Plan a point, as `plan_question` does."""
    from pdd_plan.studies.services import plan_question

    return plan_question(question, options)


def attempt(key: str, task: bytes, planner: Planner) -> Done:
    """Plan one point; whatever goes wrong is its outcome.

    Parameters
    ----------
    key : str
        Of the point; handed back.
    task : bytes
        Pickled scenario and options.
    planner : callable
        Makes a plan of them.

    Returns
    -------
    tuple of (str, Outcome, float)
        Key, outcome and seconds.
    """
    started = time.perf_counter()
    try:
        scenario, options = pickle.loads(task)  # noqa: S301 - made by this program
        outcome = outcome_of(planner(scenario, options))
    except InputError as error:
        reason = "; ".join(dict.fromkeys(issue.message for issue in error.issues))
        limits = all(_LIMIT.match(issue.path) for issue in error.issues)
        outcome = Outcome("infeasible" if limits else "input_error", reason)
    except SolverError as error:
        outcome = Outcome("solver_failed", str(error))
    except Exception as error:
        outcome = Outcome("error", f"{type(error).__name__}: {error}")
    return key, outcome, time.perf_counter() - started


class Workers(Protocol):
    """Something that plans points."""

    def outcomes(self, tasks: Tasks, planner: Planner) -> Iterator[Done]:
        """Yield what gets done, in the order in which it gets done."""

    def close(self) -> None:
        """Give back what was taken to work with."""


class LocalWorkers:
    """Processes of this machine, by joblib.

    Parameters
    ----------
    jobs : int or None
        Processes; None for one a core. One plans in this process.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = cores() if jobs is None else jobs

    def outcomes(self, tasks: Tasks, planner: Planner) -> Iterator[Done]:
        """Yield what gets done; a point whose process is killed has the outcome ``error``."""
        if self.jobs == 1 or len(tasks) < 2:
            for key, task in tasks.items():
                yield attempt(key, task, planner)
            return
        left = dict(tasks)
        while left:
            for done in self._until_one_dies(left, planner):
                del left[done[0]]
                yield done
            # Tasks start in order, so the one that killed its process is among the first left.
            for key in list(left)[: 2 * self.jobs]:
                yield self._alone(key, left.pop(key), planner)

    def close(self) -> None:
        """Leave the processes to joblib, which ends them when they have idled for a while."""

    def _until_one_dies(self, tasks: Tasks, planner: Planner) -> Iterator[Done]:
        from joblib.externals.loky.process_executor import BrokenProcessPool

        try:
            yield from self._parallel(list(tasks.items()), planner)
        except BrokenProcessPool:
            return

    def _alone(self, key: str, task: bytes, planner: Planner) -> Done:
        """Run one task with nothing beside it that it could be taken for."""
        started = time.perf_counter()
        for done in self._until_one_dies({key: task}, planner):
            return done
        return key, Outcome("error", KILLED), time.perf_counter() - started

    def _parallel(self, calls: Sequence[tuple[str, bytes]], planner: Planner) -> Iterator[Done]:
        from joblib import Parallel, delayed, parallel_config

        # Workers are replaced when their memory has grown; nothing is lost by it.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        # Libraries of linear algebra get one thread each, by the environment that workers start
        # with; more would only take cores from the other workers.
        with parallel_config("loky", inner_max_num_threads=1), interrupts_held():
            # One task a message: a plan takes far longer than its way to a worker and back, and
            # small messages keep all processes busy to the end.
            run = Parallel(self.jobs, return_as="generator_unordered", batch_size=1)
            found = run(delayed(attempt)(key, task, planner) for key, task in calls)
        yield from found


class DaskWorkers:
    """Workers of a Dask cluster.

    Parameters
    ----------
    address : str
        Of the scheduler, such as ``tcp://10.0.0.5:8786``.

    Raises
    ------
    InputError
        If Dask is not installed or no scheduler answers.
    """

    def __init__(self, address: str) -> None:
        self._client = _client(address)

    def outcomes(self, tasks: Tasks, planner: Planner) -> Iterator[Done]:
        """Yield what gets done; a point that Dask gives up on has the outcome ``error``."""
        suspects: list[str] = []
        yield from self._gathered(tasks, planner, suspects)
        # Dask gives up on whatever a worker held when it died for the fourth time; which of these
        # points killed it shows when each has the cluster to itself.
        for key in suspects:
            killed: list[str] = []
            yield from self._gathered({key: tasks[key]}, planner, killed)
            if killed:
                yield key, Outcome("error", KILLED), 0.0

    def _gathered(self, tasks: Tasks, planner: Planner, killed: list[str]) -> Iterator[Done]:
        """Yield what gets done, and put the keys of what Dask gives up on into ``killed``."""
        distributed = _distributed()
        futures = {
            self._client.submit(attempt, key, task, planner, pure=False): key
            for key, task in tasks.items()
        }
        try:
            for future in distributed.as_completed(futures, loop=self._client.loop):
                try:
                    yield future.result()
                except distributed.KilledWorker:
                    killed.append(futures[future])
        finally:
            self._client.cancel(list(futures))

    def close(self) -> None:
        """Leave the cluster."""
        self._client.close()


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back while workers start; they inherit that, and so leave it to this process.

    It comes through here as soon as they have started, and ends them.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    # Started with the first worker, it would let interrupts through again before that one starts.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def cores() -> int:
    """Return how many processes this machine can run at once."""
    from joblib import cpu_count

    return int(cpu_count())


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError:
        raise InputError(
            Issue(
                "Dask is not installed",
                path="--dask",
                help="pip install 'pdd-plan[dask]', or leave --dask out to use the local cores",
            )
        ) from None


def _client(address: str) -> Any:
    distributed = _distributed()
    try:
        if address.partition("://")[0] in (address, "tcp", "tls"):
            # First a plain connection: a client that finds nobody takes long to give up.
            host, port = distributed.comm.get_address_host_port(address)
            socket.create_connection((host, port), timeout=CONNECT_S).close()
        return distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            Issue(
                f"no Dask scheduler answers at {address}: {reason}",
                path="--dask",
                help="give the address that `dask scheduler` prints, such as tcp://10.0.0.5:8786",
            )
        ) from error
