#!/usr/bin/env python3
"""lineage-bridge-agent: tells lineage-bridge how a command ran, and never stands in its way.

One file, Python 3.6 or newer, nothing but the standard library: copy it to where jobs run.

  lineage-bridge-agent run --output /data/out.csv -- ./load.sh 2026-01-31
  lineage-bridge-agent flush
  lineage-bridge-agent register_dataset s3://bucket/out/v1 2026-01-31 SUCCESS
  lineage-bridge-agent register_process BOX/JOB SUCCESS

What is told is first written into a spool, a file an event. A process in the background (the courier) brings it to
the service, and what it cannot bring stays for the next call or `flush`. The command gets the agent's own standard
streams, and the agent ends as the command does: with its exit code, or by its signal.

Variables: LINEAGE_BRIDGE_URL, LINEAGE_BRIDGE_API_KEY, LINEAGE_BRIDGE_SPOOL; of Autosys AUTO_JOB_NAME, AUTOSERV and
AUTORUN.
"""

import errno
import json
import os
import signal
import sys
import time

DEFAULT_URL = "http://127.0.0.1:8090"
#: How much may wait in the spool; what comes then is counted, and not kept.
MOST_FILES, MOST_BYTES = 20000, 200 << 20
#: How long the service may take for an answer, and how often a long job says that it still runs.
ANSWER_SECONDS, HEARTBEAT_SECONDS = 5.0, 300.0
#: For how long the courier tries to bring what is there once the job has ended.
PATIENCE_SECONDS = 60.0
NOT_FOUND, NOT_STARTED, USAGE, UNSENT = 127, 126, 2, 1
_FORWARDED = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT", "SIGWINCH", "SIGALRM")
_PIECE = 1 << 20
_RUN_EVENT = "run_event"
_ROUTES = {
    _RUN_EVENT: "/api/v1/run_event",
    "dataset": "/api/v1/legacy/register_dataset",
    "process": "/api/v1/legacy/register_process",
}


class Spool:
    """A folder of events that wait for the service: each in a file of its own, complete or not there."""

    def __init__(self, folder, most_files=MOST_FILES, most_bytes=MOST_BYTES):
        self.folder = folder
        self.most_files = most_files
        self.most_bytes = most_bytes
        self._room = 0

    def add(self, kind, body):
        """Keep an event; tells whether there was room for it."""
        name = ""
        try:
            if not os.path.isdir(self.folder):
                os.makedirs(self.folder, 0o700)
            if self._full():
                self._count("dropped")
                return False
            name = "%020d-%d-%s.%s.json" % (int(time.time() * 1e6), os.getpid(), os.urandom(6).hex(), kind)
            part = os.path.join(self.folder, "." + name)
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(_as_json(body))
                file.flush()
                os.fsync(file.fileno())
            os.rename(part, os.path.join(self.folder, name))
        except Exception:  # whatever it is, it is no reason to harm a job
            self.remove("." + name)
            return False
        return True

    def waiting(self):
        """Name what waits, the oldest first."""
        try:
            names = os.listdir(self.folder)
        except OSError:
            return []
        return sorted(name for name in names if name.endswith(".json") and not name.startswith("."))

    def read(self, name):
        """Give what an event says; None when somebody else has brought it meanwhile."""
        try:
            with open(os.path.join(self.folder, name), "rb") as file:
                return file.read()
        except OSError:
            return None

    def remove(self, name):
        """Forget an event that was brought."""
        try:
            os.unlink(os.path.join(self.folder, name))
        except OSError:
            pass

    def refuse(self, name, reason):
        """Put an event aside that the service will never take, with its words; tells whether that could be done."""
        aside = os.path.join(self.folder, "refused")
        try:
            if not os.path.isdir(aside):
                os.makedirs(aside, 0o700)
            with open(os.path.join(aside, name + ".reason"), "w") as file:
                file.write(reason)
            os.rename(os.path.join(self.folder, name), os.path.join(aside, name))
        except OSError:
            return False
        return True

    def lock(self):
        """Let one at a time bring what waits; gives a file that holds the lock, or None."""
        import fcntl

        try:
            if os.path.islink(self.folder):
                return None
            how = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
            file = os.fdopen(os.open(os.path.join(self.folder, ".lock"), how, 0o600), "r+")
        except OSError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return None
        return file

    def attempt(self, job, run):
        """Count how often a run of a job was begun here: what Autosys calls its try."""
        import hashlib

        key = hashlib.sha256(("%s\0%s" % (job, run)).encode("utf-8", "replace")).hexdigest()[:32]
        path = os.path.join(self.folder, "attempts", key)
        try:
            if not os.path.isdir(os.path.dirname(path)):
                os.makedirs(os.path.dirname(path), 0o700)
            with open(path, "ab") as file:
                file.write(b".")
                file.flush()
                return max(1, file.tell())
        except OSError:
            return 1

    def _full(self):
        """Tell whether there is no room; who writes much looks at the folder now and then only."""
        self._room -= 1
        if self._room > 0:
            return False
        names = self.waiting()
        self._room = (self.most_files - len(names)) // 16
        if len(names) >= self.most_files:
            return True
        if len(names) * (4 << 10) < self.most_bytes:
            return False
        return sum(self._size(name) for name in names) >= self.most_bytes

    def _size(self, name):
        try:
            return os.path.getsize(os.path.join(self.folder, name))
        except OSError:
            return 0

    def _count(self, what):
        try:
            with open(os.path.join(self.folder, "." + what), "ab") as file:
                file.write(b".")
        except OSError:
            pass


class Service:
    """The service over one connection that is kept."""

    def __init__(self, url, api_key, seconds=ANSWER_SECONDS):
        self._url = url
        self._key = api_key
        self._seconds = seconds
        self._connection = None
        self._base = ""

    def send(self, kind, body):
        """Send an event; gives the status and the words of the answer, or None and why there is none."""
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = "Bearer " + self._key
        for again in (False, True):
            fresh = self._connection is None
            try:
                if self._connection is None:
                    self._connect()
                self._connection.request("POST", self._base + _ROUTES[kind], body, headers)
                answer = self._connection.getresponse()
                return answer.status, answer.read(2000).decode("utf-8", "replace")
            except Exception as error:  # whatever a network does: it is tried again later
                self.close()
                if fresh or again:
                    return None, "%s: %s" % (type(error).__name__, error)
        return None, "no answer"

    def close(self):
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self):
        import http.client
        from urllib.parse import urlsplit

        parts = urlsplit(self._url)
        secure = parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self._base = parts.path.rstrip("/")
        self._connection = kind(parts.hostname or "", parts.port, timeout=self._seconds)


def bring(spool, service, name):
    """Bring one event; gives what became of it, and why nothing more can be brought now."""
    body = spool.read(name)
    if body is None:
        return None, None
    kind = name.rsplit(".", 2)[-2]
    status, said = service.send(kind, body) if kind in _ROUTES else (400, "is no event of this agent")
    if status is not None and 200 <= status < 300:
        spool.remove(name)
        return "brought", None
    if status in (400, 413, 422):
        # It is kept there with the reason; here it would be sent again for ever.
        if spool.refuse(name, "%d %s" % (status, said)):
            return "refused", None
        return None, "what was refused cannot be put aside"
    return None, "%s %s" % ("" if status is None else status, said)


def deliver(spool, service, until=None):
    """Bring what waits to the service; gives how many were brought, how many were refused, and why it stopped."""
    brought = refused = 0
    lock = spool.lock()
    if lock is None:
        return 0, 0, "another courier is under way, or the spool is not ours" if spool.waiting() else None
    try:
        while True:
            names = spool.waiting()
            before = brought + refused
            for name in names:
                if until is not None and time.monotonic() > until:
                    return brought, refused, "the time is over"
                became, said = bring(spool, service, name)
                brought += became == "brought"
                refused += became == "refused"
                if said is not None:
                    return brought, refused, said
            if not spool.waiting():
                return brought, refused, None
            if brought + refused == before:
                return brought, refused, "what waits cannot be read, or not removed"
    finally:
        service.close()
        lock.close()


class Run:
    """A run of a command, and what is told of it."""

    def __init__(self, options, environment, spool):
        self.options = options
        self.namespace, self.name = job_name(options.job, environment, options.command)
        number = options.run_id or environment.get("AUTORUN") or ""
        self.run_id = number
        if number and "/" not in number and not _is_uuid(number):
            attempt = options.attempt or spool.attempt("%s/%s" % (self.namespace, self.name), number)
            self.run_id = "%s/%d" % (number, attempt)
        elif not number:
            self.run_id = _new_uuid()
        self.start = time.time()
        self._clock = time.monotonic()

    def body(self, state, ended=False, **facets):
        """Write an event: the end is as long after the start as a clock says that nobody sets."""
        lasted = time.monotonic() - self._clock
        run = {"runId": self.run_id, "startTime": _iso(self.start), "facets": self._facets(facets)}
        if ended:
            run["endTime"] = _iso(self.start + lasted)
            run["facets"]["durationSeconds"] = round(lasted, 3)
        body = {
            "eventType": state,
            "eventTime": _iso(self.start + lasted),
            "run": run,
            "job": {"namespace": self.namespace, "name": self.name},
        }
        for side in ("inputs", "outputs"):
            datasets = [dataset(text) for text in getattr(self.options, side[:-1]) or ()]
            if datasets:
                body[side] = datasets
        return body

    def ended(self, state, code, killed_by):
        """Write the event of the end, with what is known without looking at any file."""
        facets = {"exitCode": code} if killed_by is None else {"exitCode": code, "signal": killed_by}
        return self.body(state, True, **facets)

    def described(self, body):
        """Add what the manifest and the files of the outputs tell; tells whether that is anything."""
        manifest = read_manifest(self.options.manifest) if self.options.manifest else {}
        found = False
        for side in ("inputs", "outputs"):
            listed = manifest.get(side)
            told = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
            found = found or bool(told)
            body[side] = merge_datasets(body.get(side) or [], told)
        for one in body["outputs"]:
            found = describe(one) or found
        return found

    def _facets(self, facets):
        found = {"agent": {"host": _host(), "pid": os.getpid()}}
        if self.options.log:
            found["log"] = {"path": os.path.abspath(self.options.log)}
        for name, value in facets.items():
            found[name] = value
        return found


def job_name(given, environment, command):
    """Name the job: as it is told, as Autosys tells it, else by the command."""
    if given:
        namespace, found, name = given.rpartition("=")
        return (namespace, name) if found else ("AUTOSYS", given)
    if environment.get("AUTO_JOB_NAME"):
        instance = environment.get("AUTOSERV")
        return "AUTOSYS:%s" % instance if instance else "AUTOSYS", environment["AUTO_JOB_NAME"]
    return "SHELL:%s" % _host(), os.path.basename(command[0]) if command else "unknown"


def dataset(text):
    """Read a dataset of the command line: a path, a URL, or NAMESPACE=NAME."""
    namespace, found, name = text.partition("=")
    server = namespace.partition("://")[2]
    if found and ((server and "/" not in server and "?" not in server) or _is_word(namespace)):
        return {"namespace": _without_login(namespace), "name": name}
    if "://" in text:
        text = _without_login(text)
        return {"name": text, "namespace": text.partition("://")[0].upper()}
    path = os.path.abspath(text)
    return {"namespace": "FILE", "name": path, "facets": {"path": path}}


def merge_datasets(listed, told):
    """Put what a manifest tells of datasets to those that were named, and add those that were not."""
    found = list(listed)
    for one in told:
        name = one.get("name") or one.get("path")
        if not isinstance(name, str):
            continue
        known = dataset("%s=%s" % (one["namespace"], name) if one.get("namespace") else name)
        same = next((each for each in found if each["name"] == known["name"]), None)
        if same is None:
            found.append(known)
            same = known
        facets = same.setdefault("facets", {})
        for key, value in one.items():
            if key not in ("name", "namespace"):
                facets[key] = value
    return found


def describe(one):
    """Add the size of a file that is an output; of a folder that of all its files."""
    path = (one.get("facets") or {}).get("path")
    if not isinstance(path, str) or "://" in path or "size" in one["facets"]:
        return False
    try:
        if os.path.isdir(path):
            sizes = [os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(path) for name in names]
            one["facets"].update({"size": sum(sizes), "files": len(sizes)})
        elif os.path.exists(path):
            one["facets"]["size"] = os.path.getsize(path)
        else:
            one["facets"]["missing"] = True
    except OSError:
        return False
    return True


def measure(body, count, checksum):
    """Count the lines of outputs that are files, and compute their checksums; tells whether anything was found."""
    import hashlib

    found = False
    for one in body.get("outputs") or ():
        facets = one.get("facets") or {}
        path = facets.get("path")
        if not isinstance(path, str) or not os.path.isfile(path):
            continue
        lines, digest, last = 0, hashlib.sha256(), b"\n"
        try:
            with open(path, "rb") as file:
                piece = file.read(_PIECE)
                while piece:
                    lines += piece.count(b"\n")
                    digest.update(piece)
                    last = piece[-1:]
                    piece = file.read(_PIECE)
        except OSError:
            continue
        if count and "rows" not in facets:
            facets["rows"] = lines + (0 if last == b"\n" else 1)
            found = True
        if checksum and "checksum" not in facets:
            facets["checksum"] = "sha256:" + digest.hexdigest()
            found = True
    return found


def read_manifest(path):
    """Read what the job says of its datasets; what is no manifest says nothing."""
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read().decode("utf-8"))
    except (OSError, ValueError):
        return {}
    if isinstance(found, list):
        return {"outputs": found}
    return found if isinstance(found, dict) else {}


def succeeded(code, options):
    """Tell whether an exit code is a success, as JIL says it: fail_codes, else success_codes, else the greatest."""
    if options.fail_codes:
        return not _among(code, options.fail_codes)
    if options.success_codes:
        return _among(code, options.success_codes)
    return code <= options.max_exit_success


def _among(code, text):
    for part in text.replace(" ", "").split(","):
        low, dash, high = part.partition("-")
        try:
            if int(low) <= code <= int(high if dash else low):
                return True
        except ValueError:
            continue
    return False


def run(options, environment):
    """Run a command and tell how it went; returns as the command ends, whatever becomes of what is told."""
    command = Command(options.command)
    spool = Spool(options.spool)
    this = writing = None
    try:
        this = Run(options, environment, spool)
        start = this.body("START")
        kept = spool.add(_RUN_EVENT, start)
        writing = start_courier(spool, options, this, None if kept else start)
    except Exception:  # nothing that is told may keep the job from running
        writing = None
    code, killed_by = command.run()
    try:
        if this is not None:
            state = "ABORT" if killed_by is not None else "COMPLETE" if succeeded(code, options) else "FAIL"
            end = this.ended(state, code, killed_by)
            tell_courier(writing, state, code, killed_by, spool.add(_RUN_EVENT, end))
    except Exception:  # as above
        pass
    end_as(code, killed_by)


class Command:
    """The command: a child of ours with our own streams, to which every signal is handed on."""

    def __init__(self, words):
        self._words = words
        self._child = None
        self._pending = []
        self._before = {}
        if hasattr(signal, "SIGCHLD"):
            self._before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for name in _FORWARDED:
            number = getattr(signal, name, None)
            if number is not None:
                self._before[number] = signal.signal(number, self._hand_on)

    def run(self):
        """Run it to its end; gives its exit code, and the signal that ended it."""
        try:
            reading, writing = (_above_streams(one) for one in os.pipe())
            _flush()
            self._child = os.fork()
        except OSError:
            self._become()  # there is no room for two of us: the job comes first
        if self._child == 0:
            self._start(reading, writing)
        os.close(writing)
        for number in self._pending:
            self._send(number)
        with os.fdopen(reading, "rb") as file:
            failed = file.read()
        status = self._wait()
        for number, before in self._before.items():
            signal.signal(number, signal.SIG_DFL if before is None else before)
        if failed:
            _say("%s: %s" % (self._words[0], os.strerror(int(failed))))
            return (NOT_FOUND if int(failed) == errno.ENOENT else NOT_STARTED), None
        if os.WIFSIGNALED(status):
            return 128 + os.WTERMSIG(status), os.WTERMSIG(status)
        return os.WEXITSTATUS(status), None

    def _start(self, reading, writing):
        try:
            os.close(reading)
            self._become()
        except OSError as error:
            os.write(writing, str(error.errno).encode("ascii"))
        finally:
            os._exit(NOT_FOUND)

    def _become(self):
        """Be the command, as it would be without us: also one that is a script and does not say of what shell."""
        for number, before in self._before.items():
            signal.signal(number, signal.SIG_DFL if before is None or callable(before) else before)
        for name in ("SIGPIPE", "SIGXFSZ"):
            signal.signal(getattr(signal, name), signal.SIG_DFL)  # as Python found them
        try:
            os.execvp(self._words[0], self._words)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            os.execv("/bin/sh", ["/bin/sh", *self._words])

    def _hand_on(self, number, _):
        if self._child is None:
            self._pending.append(number)
        else:
            self._send(number)

    def _send(self, number):
        try:
            os.kill(self._child, number)
        except OSError:
            pass

    def _wait(self):
        while True:
            try:
                return os.waitpid(self._child, 0)[1]
            except InterruptedError:
                continue
            except ChildProcessError:
                return 0  # somebody else took its end, and nobody can know it


def end_as(code, killed_by):
    """End as the command did: by its signal, or with its exit code."""
    _flush()
    if killed_by is not None:
        try:
            import resource

            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # one core file, the command's, is enough
            if killed_by not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(killed_by, signal.SIG_DFL)
            os.kill(os.getpid(), killed_by)
            time.sleep(1)  # until the signal is there
        except (OSError, ValueError):
            pass
    os._exit(code)


def start_courier(spool, options, this, unkept):
    """Start what brings events while the command runs; gives the pipe by which it is told of the end."""
    reading, writing = (_above_streams(one) for one in os.pipe())
    if os.fork() == 0:
        try:
            _detach(reading)
            courier(spool, Service(options.url, options.api_key), options, this, unkept, reading)
        finally:
            os._exit(0)
    os.close(reading)
    os.set_blocking(writing, False)
    return writing


def tell_courier(writing, state, code, killed_by, kept):
    """Tell the courier how it ended; when it does not listen, the spool has it."""
    if writing is None:
        return
    try:
        os.write(writing, json.dumps([state, code, killed_by, kept]).encode("utf-8"))
        os.close(writing)
    except OSError:
        pass


def end_of(spool, this, told):
    """Write the end as the agent told of it; tells whether it is in the spool already."""
    try:
        state, code, killed_by, kept = json.loads(told.decode("utf-8"))
    except ValueError:
        # Nobody is left who could tell of the end: the agent itself was killed.
        said = {"message": "the agent was killed", "programmingLanguage": "SHELL"}
        end = this.body("ABORT", True, errorMessage=said)
        return end, spool.add(_RUN_EVENT, end)
    return this.ended(state, code, killed_by), kept


def courier(spool, service, options, this, unkept, reading):
    """Bring what waits, say now and then that the command still runs, and bring its end."""
    import select

    if unkept is not None:
        service.send(_RUN_EVENT, _as_json(unkept))
    deliver(spool, service)
    told = b""
    while True:
        ready, _, _ = select.select([reading], [], [], max(options.heartbeat, 0.05))
        if not ready:
            service.send(_RUN_EVENT, _as_json(this.body("RUNNING")))
            deliver(spool, service)
            continue
        piece = os.read(reading, _PIECE)
        if not piece:
            break
        told += piece
    end, kept = end_of(spool, this, told)
    more = this.described(end)
    if options.count or options.checksum:
        more = measure(end, options.count, options.checksum) or more
    if more:
        kept = spool.add(_RUN_EVENT, end)
    if not kept:
        service.send(_RUN_EVENT, _as_json(end))
    until, pause = time.monotonic() + PATIENCE_SECONDS, 0.5
    while spool.waiting() and time.monotonic() < until:
        if deliver(spool, service, until)[2] is None:
            break
        time.sleep(pause)
        pause = min(pause * 2, 10)


def flush(options):
    """Bring all that waits, and say how that went."""
    spool = Spool(options.spool)
    brought, refused, why = deliver(spool, Service(options.url, options.api_key))
    left = len(spool.waiting())
    said = "%d brought, %d refused (in %s), %d left" % (
        brought,
        refused,
        os.path.join(options.spool, "refused"),
        left,
    )
    _say("%s%s" % (said, ": %s" % why if why else ""))
    return UNSENT if left or refused else 0


def register_dataset(name, version, status="SUCCESS", **more):
    """Tell of a version of a dataset, from an old script; tells whether it is on its way."""
    return _register("dataset", dict(more, name=name, version=version, status=status))


def register_process(name, status, **more):
    """Tell of a run of a process, from an old script; tells whether it is on its way."""
    return _register("process", dict(more, name=name, status=status))


def _register(kind, body):
    environment = os.environ
    body.setdefault("time", _iso(time.time()))
    spool = Spool(environment.get("LINEAGE_BRIDGE_SPOOL") or default_spool())
    if not spool.add(kind, body):
        return False
    bring_later(
        spool, environment.get("LINEAGE_BRIDGE_URL") or DEFAULT_URL, environment.get("LINEAGE_BRIDGE_API_KEY")
    )
    return True


def bring_later(spool, url, api_key):
    """Bring what waits in a process of its own, for which nobody waits."""
    try:
        child = os.fork()
        if child == 0:
            try:
                _detach(None)
                if os.fork() == 0:
                    deliver(spool, Service(url, api_key), time.monotonic() + PATIENCE_SECONDS)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
    except OSError:
        pass  # the next call brings it


def default_spool():
    """Name the folder in which events wait unless somebody names another: on this machine's own disk."""
    return "/var/tmp/lineage-bridge-spool-%d" % os.getuid()


def parser():
    """Read the words of the command line."""
    import argparse

    environment = os.environ
    both = argparse.ArgumentParser(add_help=False)
    both.add_argument("--url", default=environment.get("LINEAGE_BRIDGE_URL") or DEFAULT_URL, help="the service")
    both.add_argument("--api-key", default=environment.get("LINEAGE_BRIDGE_API_KEY"), help="its key, scope ingest")
    spool = environment.get("LINEAGE_BRIDGE_SPOOL") or default_spool()
    both.add_argument("--spool", default=spool, help="where events wait until they are sent (%(default)s)")
    words = argparse.ArgumentParser(prog="lineage-bridge-agent", description=__doc__.split("\n\n")[0])
    commands = words.add_subparsers(dest="what", metavar="COMMAND")
    one = commands.add_parser("run", parents=[both], help="run a command, and tell how it went")
    one.add_argument("--job", help="its name: BOX/JOB of Autosys, or NAMESPACE=NAME; else AUTO_JOB_NAME")
    one.add_argument("--run-id", help="the id of the run: a number of Autosys, or any other; else AUTORUN")
    one.add_argument("--attempt", type=int, help="which try of this run it is; else they are counted here")
    one.add_argument("--input", action="append", help="a dataset it reads: a path, a URL, or NAMESPACE=NAME")
    one.add_argument("--output", action="append", help="a dataset it writes")
    one.add_argument("--manifest", help="a JSON file that the command writes: outputs and inputs with rows, versions")
    one.add_argument("--count", action="store_true", help="count the lines of outputs, once the command has ended")
    one.add_argument("--checksum", action="store_true", help="compute the checksums of outputs, as above")
    one.add_argument("--log", help="where its log lies")
    one.add_argument("--max-exit-success", type=int, default=0, help="the greatest exit code that is a success")
    one.add_argument("--success-codes", help="exit codes that are successes, such as 0,4-8")
    one.add_argument("--fail-codes", help="exit codes that are failures: all others are successes")
    one.add_argument("--heartbeat", type=float, default=HEARTBEAT_SECONDS, help="seconds between signs of life")
    one.add_argument("command", nargs=argparse.REMAINDER, help="-- and the command with its words")
    commands.add_parser("flush", parents=[both], help="bring all that waits")
    for kind, given in (("dataset", ("name", "version", "status")), ("process", ("name", "status"))):
        registered = commands.add_parser("register_" + kind, parents=[both], help="tell of a %s" % kind)
        for name in given:
            registered.add_argument(name, nargs="?" if name == "status" and kind == "dataset" else None)
    return words


def main(arguments=None):
    """Do what the command line says."""
    words = parser()
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        options = words.parse_args(given)
    except SystemExit as error:
        if error.code and given[:1] == ["run"] and "--" in given and given[given.index("--") + 1 :]:
            _say("the command is run all the same, and nobody is told of it")
            code, killed_by = Command(given[given.index("--") + 1 :]).run()
            end_as(code, killed_by)
        raise
    if options.what == "run":
        options.command = options.command[1:] if options.command[:1] == ["--"] else options.command
        if not options.command:
            words.error("run: name the command behind --")
        return run(options, os.environ)
    if options.what == "flush":
        return flush(options)
    if options.what in ("register_dataset", "register_process"):
        body = {"name": options.name, "status": options.status or "SUCCESS", "time": _iso(time.time())}
        if options.what == "register_dataset":
            body["version"] = options.version
        spool = Spool(options.spool)
        if not spool.add(options.what.split("_")[1], body):
            _say("%s: cannot be written, or is full" % options.spool)
            return UNSENT
        bring_later(spool, options.url, options.api_key)
        return 0
    words.print_help(sys.stderr)
    return USAGE


def _as_json(body):
    """Write what is told as JSON: what is no text of UTF-8 is made one."""
    return json.dumps(_texts(body), default=str).encode("utf-8")


def _texts(value):
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {_texts(str(key)): _texts(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_texts(one) for one in value]
    return value


def _is_word(text):
    return text.replace("_", "").isalnum() and text.upper() == text


def _without_login(address):
    """Take a password, and whatever stands behind a question mark, out of an address."""
    scheme, found, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    if "@" in host:
        host = host.rpartition("@")[2]
    return scheme + found + host + slash + path.partition("?")[0].partition(";")[0]


def _above_streams(descriptor):
    """Move a descriptor above the standard streams, where one of these is closed."""
    import fcntl

    if descriptor > 2:
        return descriptor
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return moved


def _detach(keep):
    """Leave the job's session, streams, signals and files: nobody shall wait for what this process holds."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    for name in _FORWARDED:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    try:
        opened = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        opened = list(range(3, 1024))
    for one in opened:
        if one > 2 and one != keep:
            try:
                os.close(one)
            except OSError:
                pass


def _flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            pass


def _say(text):
    try:
        if sys.stderr is not None:
            sys.stderr.write("lineage-bridge-agent: %s\n" % text)
            sys.stderr.flush()
    except (OSError, ValueError):
        pass


def _is_uuid(text):
    return len(text) == 36 and text.count("-") == 4


def _new_uuid():
    digits = bytearray(os.urandom(16))
    digits[6], digits[8] = digits[6] & 0x0F | 0x40, digits[8] & 0x3F | 0x80
    text = digits.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _host():
    return os.uname()[1]


def _iso(moment):
    whole = int(moment)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + ".%06d+00:00" % int((moment - whole) * 1e6)


if __name__ == "__main__":
    sys.exit(main())
