#!/usr/bin/env python3
"""lineage-bridge-agent: tells lineage-bridge how a command ran, and never stands in its way.

One file, Python 3.6 or newer, nothing but the standard library: copy it to where jobs run.

  lineage-bridge-agent install /usr/local/bin/lineage-bridge-agent
  lineage-bridge-agent run --output /data/out.csv -- ./load.sh 2026-01-31
  lineage-bridge-agent flush
  lineage-bridge-agent register_dataset s3://bucket/out/v1 2026-01-31 SUCCESS
  lineage-bridge-agent register_process BOX/JOB SUCCESS

What is told is first written into a spool, a file an event. A process in the background (the courier) brings it to
the service, and what it cannot bring stays for the next call or `flush`. The command gets the agent's own standard
streams, and the agent ends as the command does: with its exit code, or by its signal.

Variables: LINEAGE_BRIDGE_URL, LINEAGE_BRIDGE_API_KEY, LINEAGE_BRIDGE_SPOOL; of Autosys AUTO_JOB_NAME, AUTOSERV and
AUTORUN. The command gets LINEAGE_BRIDGE_PARENT_RUN, by which an agent within it knows its own run from this one.
"""

import errno
import json
import os
import signal
import stat
import sys
import time

DEFAULT_URL = "http://127.0.0.1:8090"
#: Where the spools of users lie, each in a folder of its own: on this machine's own disk.
DEFAULT_PLACE, _FOLDER = "/var/tmp", "lineage-bridge-spool-"
#: How much may wait in the spool; what comes then is counted, and not kept.
MOST_FILES, MOST_BYTES = 20000, 200 << 20
#: How long the service may take for an answer, and how often a long job says that it still runs.
ANSWER_SECONDS, HEARTBEAT_SECONDS = 5.0, 300.0
#: For how long the courier tries to bring what is there once the job has ended.
PATIENCE_SECONDS = 60.0
#: For how long the first process of a container waits for its courier, which ends when it ends.
LINGER_SECONDS = 2.0
#: For how long the tries of a run are remembered, of how many runs, and how often that is looked after.
ATTEMPT_SECONDS, MOST_ATTEMPTS, SWEEP_SECONDS = 7 * 86400.0, 20000, 3600.0
#: How long a process of ours may take to answer, and how long the signals of one call may lie apart in a group.
NEAR_SECONDS, APART_SECONDS = 1.0, 0.002
#: How much of what is wrong with a manifest is told.
MOST_PROBLEMS = 10
NOT_FOUND, NOT_STARTED, USAGE, UNSENT = 127, 126, 2, 1
_FORWARDED = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT", "SIGWINCH", "SIGALRM")
_PIECE = 1 << 20
_PARENT = "LINEAGE_BRIDGE_PARENT_RUN"
#: What stands before `=` is a namespace where it is in capitals, an address, or one of these.
NAMESPACE_WORDS = frozenset(
    "abfs abfss adl bigquery cassandra db2 dbfs file gcs gs hdfs hive iceberg impala kafka local mariadb mongodb"
    " mssql mysql nfs oracle postgres postgresql redshift s3 s3a s3n sftp snowflake sqlite sqlserver teradata unix"
    " vertica wasb wasbs".split()
)
_FILE_WORDS = frozenset(("file", "local", "nfs", "unix"))
#: Schemes in whose addresses a container stands where others have a login.
_CONTAINERS = frozenset(("abfs", "abfss", "wasb", "wasbs"))
_AUTOSYS = ("AUTO_JOB_NAME", "AUTOSERV", "AUTORUN")
_RUN_EVENT = "run_event"
#: Who tells how many events were lost, each once: the next run, and `flush`.
_BY_RUN, _BY_FLUSH = ".dropped-by-run", ".dropped"
_ROUTES = {
    _RUN_EVENT: "/api/v1/run_event",
    "dataset": "/api/v1/legacy/register_dataset",
    "process": "/api/v1/legacy/register_process",
}


class Spool:
    """A user's events that wait for the service: each in a file of its own, complete or not there."""

    def __init__(self, place, most_files=MOST_FILES, most_bytes=MOST_BYTES):
        # Whoever brings what lies there leaves the folder of the job.
        self.folder = os.path.join(_absolute(place, _here()), _FOLDER + str(os.geteuid()))
        self.most_files = most_files
        self.most_bytes = most_bytes
        self._room = 0

    def is_ours(self):
        """Tell whether nobody else can put anything into the folder: what lies there is sent with our key."""
        try:
            found = os.lstat(self.folder)
        except OSError:
            return False
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022

    def add(self, kind, body):
        """Keep an event; tells whether there was room for it."""
        name = ""
        try:
            self._make()
            if self._full():
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

    def lose(self):
        """Count an event that found no room and was not taken at once either."""
        for told_by in (_BY_RUN, _BY_FLUSH):
            try:
                with open(os.path.join(self._make(), told_by), "ab") as file:
                    file.write(b".")
            except OSError:
                pass

    def lost(self, told_by):
        """Tell how many events were lost of which somebody has not told."""
        return self._size(told_by) if self.is_ours() else 0

    def told_lost(self, told_by, count):
        """Count anew: of so many that were lost somebody has told."""
        try:
            if count:
                os.truncate(os.path.join(self.folder, told_by), max(0, self._size(told_by) - count))
        except OSError:
            pass

    def waiting(self):
        """Name what waits, the oldest first."""
        try:
            names = os.listdir(self.folder) if self.is_ours() else []
        except OSError:
            return []
        return sorted(name for name in names if _kind(name) in _ROUTES and not name.startswith("."))

    def read(self, name):
        """Give what an event says; None when it is none, or somebody else has brought it meanwhile."""
        try:
            how = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # what is no file keeps nobody waiting
            with os.fdopen(os.open(os.path.join(self.folder, name), how), "rb") as file:
                return file.read() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
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
        try:
            aside = self._make("refused")
            with open(os.path.join(aside, name + ".reason"), "wb") as file:
                file.write(reason.encode("utf-8", "replace"))
            os.rename(os.path.join(self.folder, name), os.path.join(aside, name))
        except OSError:
            return False
        return True

    def lock(self):
        """Let one at a time bring what waits; gives a file that holds the lock, or None."""
        try:
            if not self.is_ours():
                return None
            how = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
            file = os.fdopen(os.open(os.path.join(self.folder, ".lock"), how, 0o600), "r+")
        except OSError:
            return None
        if _locked(file.fileno(), shared=False):
            return file
        file.close()
        return None

    def closed(self):
        """Say why nothing can be brought; None when there is nothing."""
        if os.path.lexists(self.folder) and not self.is_ours():
            return "%s belongs to somebody else, or others may write there" % self.folder
        return "another courier is under way" if self.waiting() else None

    def attempt(self, job, run):
        """Count how often a run of a job was begun here: what Autosys calls its try."""
        import hashlib

        key = hashlib.sha256(("%s\0%s" % (job, run)).encode("utf-8", "replace")).hexdigest()[:32]
        try:
            path = os.path.join(self._make("attempts"), key)
            for _ in range(100):
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
                try:
                    # Who removes a counter locks it alone: what counts here is still there, or is made anew.
                    if _locked(descriptor, shared=True) and os.fstat(descriptor).st_nlink:
                        os.write(descriptor, b".")
                        return max(1, os.lseek(descriptor, 0, os.SEEK_CUR))
                finally:
                    os.close(descriptor)
        except OSError:
            pass
        return 1

    def sweep(self):
        """Forget the tries of runs that were long ago, and the oldest where there are too many; now and then only."""
        folder = os.path.join(self.folder, "attempts")
        swept = os.path.join(folder, ".swept")
        now = time.time()
        try:
            if not self.is_ours() or (os.path.exists(swept) and now - os.stat(swept).st_mtime < SWEEP_SECONDS):
                return
            with open(swept, "ab"):
                os.utime(swept, None)
            found = sorted((one.stat().st_mtime, one.path) for one in os.scandir(folder) if one.path != swept)
        except OSError:
            return
        for at, (counted, path) in enumerate(found):
            if at >= len(found) - MOST_ATTEMPTS and now - counted < ATTEMPT_SECONDS:
                return
            self._forget(path, counted)

    def _forget(self, path, counted):
        """Remove a counter on which nobody has counted meanwhile."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
            try:
                if _locked(descriptor, shared=False) and os.fstat(descriptor).st_mtime == counted:
                    os.unlink(path)
            finally:
                os.close(descriptor)
        except OSError:
            pass

    def _make(self, *below):
        """Make the folder, or one below it; raises PermissionError where it is not ours alone."""
        os.makedirs(self.folder, 0o700, exist_ok=True)
        if not self.is_ours():
            raise PermissionError(self.folder)
        folder = os.path.join(self.folder, *below)
        os.makedirs(folder, 0o700, exist_ok=True)
        return folder

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
    status, said = service.send(_kind(name), body)
    if status is not None and 200 <= status < 300:
        spool.remove(name)
        return "brought", None
    if status in (400, 413, 422):
        # It is kept there with the reason; here it would be sent again for ever.
        return "refused" if spool.refuse(name, "%d %s" % (status, said)) else None, None
    return None, "%s %s" % ("" if status is None else status, said)


def deliver(spool, service, until=None):
    """Bring what waits to the service; gives how many were brought, how many were refused, and why it stopped."""
    lock = spool.lock()
    if lock is None:
        return 0, 0, spool.closed()
    became, tried = [], set()
    why = None
    try:
        while why is None:
            names = [name for name in spool.waiting() if name not in tried]
            if not names:
                break
            tried.update(names)
            why = bring_each(spool, service, names, became, until)
    finally:
        service.close()
        lock.close()
    stuck = len(tried.intersection(spool.waiting()))
    if why is None and stuck:
        why = "%d cannot be read, removed or put aside" % stuck
    return became.count("brought"), became.count("refused"), why


def bring_each(spool, service, names, became, until):
    """Bring events, and note what became of each; gives why nothing more can be brought now."""
    for name in names:
        if until is not None and time.monotonic() > until:
            return "the time is over"
        one, why = bring(spool, service, name)
        became.append(one)
        if why is not None:
            return why
    return None


class Run:
    """A run of a command, and what is told of it."""

    def __init__(self, options, environment, spool):
        self.options = options
        # Paths are those of the job: the courier stands in another folder.
        self._folder = _here()
        self.manifest = _absolute(options.manifest, self._folder) if options.manifest else None
        self._named = {side: self._datasets(side) for side in ("inputs", "outputs")}
        self.parent = parent_of(environment)
        self._autosys = [environment.get(name) for name in _AUTOSYS]
        if self.parent:
            environment = {}  # what Autosys says is said of the parent
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
        for side, datasets in self._named.items():
            if datasets:
                body[side] = [dict(one, facets=dict(one.get("facets") or {})) for one in datasets]
        return body

    def ended(self, state, code, killed_by):
        """Write the event of the end, with what is known without looking at any file."""
        facets = {"exitCode": code} if killed_by is None else {"exitCode": code, "signal": killed_by}
        return self.body(state, True, **facets)

    def described(self, body):
        """Add what the manifest and the files of the outputs tell; tells whether that is anything."""
        told, wrong = read_manifest(self.manifest) if self.manifest else ({}, [])
        if wrong:
            body["run"]["facets"]["manifest"] = {"path": self.manifest, "problems": wrong}
        for side in ("inputs", "outputs"):
            body[side] = merge_datasets(body.get(side) or [], told.get(side) or [], self._folder)
        found = bool(wrong or any(told.values()))
        for one in body["outputs"]:
            found = describe(one) or found
        return found

    def as_parent(self):
        """Write what an agent within the command has to know."""
        job = {"namespace": self.namespace, "name": self.name}
        return json.dumps({"autosys": self._autosys, "parent": {"run": {"runId": self.run_id}, "job": job}})

    def _facets(self, facets):
        found = {"agent": {"host": _host(), "pid": os.getpid()}}
        if self.parent:
            found["parent"] = self.parent
        if self.options.log:
            found["log"] = {"path": _absolute(self.options.log, self._folder)}
        for name, value in facets.items():
            found[name] = value
        return found

    def _datasets(self, side):
        return [dataset(text, self._folder) for text in getattr(self.options, side[:-1]) or ()]


def parent_of(environment):
    """Read the run within which we are; None where Autosys started us since: that is a job of its own."""
    try:
        told = json.loads(environment.get(_PARENT) or "{}")
        same = told.get("autosys") == [environment.get(name) for name in _AUTOSYS]
        return told.get("parent") if same else None
    except (ValueError, AttributeError):
        return None


def job_name(given, environment, command):
    """Name the job: as it is told, as Autosys tells it, else by the command."""
    if given:
        namespace, found, name = given.rpartition("=")
        return (namespace, name) if found else ("AUTOSYS", given)
    if environment.get("AUTO_JOB_NAME"):
        instance = environment.get("AUTOSERV")
        return "AUTOSYS:%s" % instance if instance else "AUTOSYS", environment["AUTO_JOB_NAME"]
    return "SHELL:%s" % _host(), os.path.basename(command[0]) if command else "unknown"


def dataset(text, folder):
    """Read a dataset of the command line: a path from a folder, a URL, or NAMESPACE=NAME."""
    namespace, found, name = text.partition("=")
    server = namespace.partition("://")[2]
    if found and ((server and "/" not in server and "?" not in server) or _is_word(namespace)):
        return named_dataset(namespace, name, folder)
    if "://" in text:
        text = _without_login(text)
        return {"name": text, "namespace": text.partition("://")[0].upper()}
    return named_dataset("FILE", text, folder)


def named_dataset(namespace, name, folder):
    """Write a dataset of which both names are told: it is called so, and a file is looked for from a folder."""
    if "://" in name:
        return {"namespace": _without_login(namespace), "name": _without_login(name)}
    if namespace.lower() in _FILE_WORDS:
        path = _absolute(name, folder)
        return {"namespace": namespace, "name": path, "facets": {"path": path}}
    return {"namespace": _without_login(namespace), "name": name}


def merge_datasets(listed, told, folder):
    """Put what a manifest tells of datasets to those that were named, and add those that were not."""
    found = list(listed)
    for one in told:
        name, namespace = one.get("name") or one.get("path"), one.get("namespace")
        known = named_dataset(namespace, name, folder) if namespace else dataset(name, folder)
        same = next((each for each in found if _is_same(each, known, bool(namespace))), None)
        if same is None:
            found.append(known)
            same = known
        facets = same.setdefault("facets", {})
        for key, value in one.items():
            if key == "path" and isinstance(value, str):
                facets[key] = _without_login(value) if "://" in value else _absolute(value, folder)
            elif key not in ("name", "namespace"):
                facets[key] = value
    return found


def _is_same(one, other, both):
    """Tell whether two are one dataset: of the same name, and of the same namespace where both say theirs."""
    spaces = [each["namespace"].lower() for each in (one, other)]
    return one["name"] == other["name"] and (
        not both or spaces[0] == spaces[1] or all(each in _FILE_WORDS for each in spaces)
    )


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
    """Read what the job says of its inputs and outputs; gives that, and what of it cannot be read."""
    try:
        if not os.path.isfile(path):
            # A pipe would be waited for as long as nobody writes.
            return {}, ["is no file" if os.path.exists(path) else "is not there"]
        with open(path, "rb") as file:
            found = json.loads(file.read().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        return {}, ["cannot be read: %s" % (getattr(error, "strerror", None) or error)]
    if isinstance(found, list):
        found = {"outputs": found}
    if not isinstance(found, dict) or not ("inputs" in found or "outputs" in found):
        return {}, ["names neither inputs nor outputs"]
    told, wrong = {}, []
    for side in ("inputs", "outputs"):
        told[side] = told_datasets(side, found.get(side) or [], wrong)
    return told, wrong[:MOST_PROBLEMS]


def told_datasets(side, listed, wrong):
    """Read the datasets of one side of a manifest: objects, or texts as options have them; notes what is neither."""
    if not isinstance(listed, list):
        wrong.append("%s is no list" % side)
        return []
    found = []
    for at, said in enumerate(listed):
        one = {"name": said} if isinstance(said, str) else said
        name = (one.get("name") or one.get("path")) if isinstance(one, dict) else None
        if isinstance(name, str) and name and isinstance(one.get("namespace") or "", str):
            found.append(one)
        else:
            wrong.append("%s[%d] names no dataset" % (side, at))
    return found


def tell_problems(path):
    """Say what is wrong with a manifest; a process of its own looks, as a file may keep waiting whoever reads it."""
    reading, writing = (_above_streams(one) for one in os.pipe())
    if os.fork() == 0:
        try:
            _detach(writing)
            os.write(writing, "; ".join(read_manifest(path)[1]).encode("utf-8", "replace"))
        finally:
            os._exit(0)
    os.close(writing)
    said = os.read(reading, _PIECE) if select_one(reading, NEAR_SECONDS) else b""
    if said:
        _say("%s: %s" % (path, said.decode("utf-8")))


def succeeded(code, options):
    """Tell whether an exit code is a success, as JIL says it: fail_codes, else success_codes, else the greatest."""
    if options.fail_codes:
        return not _among(code, options.fail_codes)
    if options.success_codes:
        return _among(code, options.success_codes)
    return code <= options.max_exit_success


def _among(code, ranges):
    return any(low <= code <= high for low, high in ranges)


def codes(text):
    """Read exit codes such as 0,4-8; raises ValueError where they are none."""
    found = []
    for part in filter(None, text.replace(" ", "").split(",")):
        low, dash, high = part.partition("-")
        found.append((int(low), int(high if dash else low)))
        if found[-1][0] > found[-1][1]:
            raise ValueError(part)
    return found


class Mistake(str):
    """What is no value of its option, as it was given."""

    __slots__ = ()


def or_mistake(read):
    """Read the value of an option, and never fail: the command is run whatever it is."""

    def reading(text):
        try:
            return read(text)
        except ValueError:
            return Mistake(text)

    return reading


def run(options, environment):
    """Run a command and tell how it went; returns as the command ends, whatever becomes of what is told."""
    command = Command(options.command)
    spool = Spool(options.spool)
    this = pipes = None
    try:
        this = Run(options, environment, spool)
        start, kept = keep_start(this, spool)
        pipes = start_courier(spool, options, this, None if kept else start)
        environment[_PARENT] = this.as_parent()
    except Exception:  # nothing that is told may keep the job from running
        pass
    code, killed_by = command.run()
    try:
        if this is not None:
            state = "ABORT" if killed_by is not None else "COMPLETE" if succeeded(code, options) else "FAIL"
            kept = spool.add(_RUN_EVENT, this.ended(state, code, killed_by))
            tell_courier(pipes, [state, code, killed_by, kept], options.linger)
            if this.manifest:
                tell_problems(this.manifest)
    except Exception:  # as above
        pass
    end_as(code, killed_by)


def keep_start(this, spool):
    """Write the start, with how many events were lost before it; gives it, and whether there was room for it."""
    lost = spool.lost(_BY_RUN)
    start = this.body("START", **({"droppedEvents": lost} if lost else {}))
    kept = spool.add(_RUN_EVENT, start)
    spool.told_lost(_BY_RUN, lost if kept else 0)
    return start, kept


class Command:
    """The command: a child of ours with our own streams, to which every signal is handed on that it has not got."""

    def __init__(self, words):
        self._words = words
        self._signals = {getattr(signal, name) for name in (*_FORWARDED, "SIGCHLD") if hasattr(signal, name)}
        # They are waited for, so that none is missed before the command is there, and none ends us before it.
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, self._signals)
        self._before = {number: signal.signal(number, lambda *_: None) for number in self._signals}

    def run(self):
        """Run it to its end; gives its exit code, and the signal that ended it."""
        try:
            reading, writing = (_above_streams(one) for one in os.pipe())
            _flush()
            child = os.fork()
        except OSError:
            self._become()  # there is no room for two of us: the job comes first
        if child == 0:
            self._start(reading, writing)
        os.close(writing)
        witness = Witness()  # behind the command: what came between comes twice, and is not lost
        status = self._wait(child, witness)
        witness.leave()
        with os.fdopen(reading, "rb") as file:
            failed = file.read()
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
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        try:
            os.execvp(self._words[0], self._words)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            os.execv("/bin/sh", ["/bin/sh", *self._words])

    def _wait(self, child, witness):
        while True:
            try:
                ended, status = os.waitpid(child, os.WNOHANG)
            except ChildProcessError:
                return 0  # somebody else took its end, and nobody can know it
            if ended:
                return status
            number = signal.sigwait(self._signals)
            if number != signal.SIGCHLD and not witness.heard(number):
                try:
                    os.kill(child, number)
                except OSError:
                    pass


class Witness:
    """A child that stays in our process group and gets what the whole group is sent, as the command does."""

    def __init__(self):
        self._child = self._question = self._answer = None
        try:
            asked, self._question = (_above_streams(one) for one in os.pipe())
            self._answer, answered = (_above_streams(one) for one in os.pipe())
            self._child = os.fork()
        except OSError:
            return  # nobody can tell us: what comes twice is not lost
        if self._child == 0:
            try:
                _let_go(asked, answered)
                self._listen(asked, answered)
            finally:
                os._exit(0)
        os.close(asked)
        os.close(answered)

    def heard(self, number):
        """Tell whether a signal that we got was sent to the whole group."""
        if not self._ask(number):
            select_one(None, APART_SECONDS)  # not every system tells a whole group at one moment
            if not self._ask(number):
                return False
        while number in signal.sigpending():
            signal.sigwait([number])  # came while we asked: the witness may hold both as one
            self._ask(number)
        return True

    def leave(self):
        """End it."""
        child, self._child = self._child, None
        try:
            if child:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        except OSError:
            pass  # somebody else took its end

    def _ask(self, number):
        if self._child is None:
            return False
        try:
            os.write(self._question, bytes([number]))
            if select_one(self._answer, NEAR_SECONDS):
                return os.read(self._answer, 1) == b"y"
        except OSError:
            pass
        self.leave()  # somebody has stopped or ended it: its answers would be late
        return False

    def _listen(self, asked, answered):
        """Say of each signal that is asked for whether it is there, and take it; till nobody is left to ask."""
        while True:
            number = os.read(asked, 1)
            if not number:
                return
            there = number[0] in signal.sigpending()
            if there:
                signal.sigwait([number[0]])
            os.write(answered, b"y" if there else b"n")


def end_as(code, killed_by):
    """End as the command did: by its signal, or with its exit code."""
    _flush()
    if killed_by is not None and os.getpid() != 1:  # whom no signal of its own ends
        try:
            import resource

            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # one core file, the command's, is enough
            if killed_by not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(killed_by, signal.SIG_DFL)
            os.kill(os.getpid(), killed_by)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [killed_by])
            time.sleep(1)  # until the signal is there
        except (OSError, ValueError):
            pass
    os._exit(code)


def start_courier(spool, options, this, unkept):
    """Start what brings events while the command runs; gives the pipes to tell it of the end, and for its word."""
    reading, writing = (_above_streams(one) for one in os.pipe())
    done, doing = (_above_streams(one) for one in os.pipe())
    if os.fork() == 0:
        try:
            _detach(reading, doing)
            os.write(doing, b"detached")
            courier(spool, Service(options.url, options.api_key), options, this, unkept, (reading, doing))
        finally:
            os._exit(0)
    os.close(reading)
    os.close(doing)
    os.set_blocking(writing, False)
    return writing, done


def tell_courier(pipes, end, seconds):
    """Tell the courier how it ended, and wait for it as long as told; when it does not listen, the spool has it."""
    if pipes is None:
        return
    writing, done = pipes
    if select_one(done, NEAR_SECONDS):
        os.read(done, _PIECE)  # by now it holds nothing of the job's, for which somebody might wait
    try:
        os.write(writing, json.dumps(end).encode("utf-8"))
        os.close(writing)
    except OSError:
        return
    if seconds > 0:
        select_one(done, seconds)


def select_one(descriptor, seconds):
    """Wait until there is something to read, for so many seconds at most; tells whether there is."""
    import select

    return bool(select.select([] if descriptor is None else [descriptor], [], [], seconds)[0])


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


def courier(spool, service, options, this, unkept, pipes):
    """Bring what waits, say now and then that the command still runs, and bring its end."""
    reading, doing = pipes
    if unkept is not None:
        send_now(spool, service, unkept)
    deliver(spool, service)
    spool.sweep()
    told = b""
    while True:
        if not select_one(reading, max(options.heartbeat, 0.05)):
            service.send(_RUN_EVENT, _as_json(this.body("RUNNING")))
            deliver(spool, service)
            continue
        piece = os.read(reading, _PIECE)
        if not piece:
            break
        told += piece
    end, kept = end_of(spool, this, told)
    if options.linger:
        deliver(spool, service)  # what is known by now: files may take longer to read than anybody waits
    more = this.described(end)
    if options.count or options.checksum:
        more = measure(end, options.count, options.checksum) or more
    if more:
        kept = spool.add(_RUN_EVENT, end)
    if not kept:
        send_now(spool, service, end)
    bring_patiently(spool, service, doing)


def send_now(spool, service, body):
    """Send an event that found no room; what is not taken at once is lost, and counted."""
    status = service.send(_RUN_EVENT, _as_json(body))[0]
    if status is None or not 200 <= status < 300:
        spool.lose()


def bring_patiently(spool, service, doing):
    """Bring what waits, for a time again and again; whoever waits for us waits for the first time only."""
    until, pause = time.monotonic() + PATIENCE_SECONDS, 0.5
    why = deliver(spool, service, until)[2]
    os.close(doing)
    while why is not None and spool.waiting() and time.monotonic() < until:
        time.sleep(pause)
        pause = min(pause * 2, 10)
        why = deliver(spool, service, until)[2]


def flush(options):
    """Bring all that waits: our own, and for root what others left, in the name of each; says how that went."""
    if os.geteuid() != 0:
        return flush_own(options)
    import encodings.idna  # noqa: F401 - what bringing needs: others may not read where root's Python lies
    import fcntl  # noqa: F401 - as above
    import http.client  # noqa: F401 - as above

    return max([flush_own(options), *(as_user(one, lambda: flush_own(options)) for one in others(options.spool))])


def flush_own(options):
    """Bring all that waits of one user, and say how that went."""
    spool = Spool(options.spool)
    brought, refused, why = deliver(spool, Service(options.url, options.api_key))
    left, lost = len(spool.waiting()), spool.lost(_BY_FLUSH)
    aside = os.path.join(spool.folder, "refused")
    said = "%d brought, %d refused (in %s), %d left" % (brought, refused, aside, left)
    if lost:
        said += ", %d lost before, as there was no room for them" % lost
    _say("%s%s" % (said, ": %s" % why if why else ""))
    spool.told_lost(_BY_FLUSH, lost)
    return UNSENT if left or refused or why or lost else 0


def others(place):
    """Find whose spools lie in a place besides ours, each with the group of its folder."""
    found = []
    for name in sorted(os.listdir(place) if os.path.isdir(place) else ()):
        digits = name[len(_FOLDER) :]
        if not name.startswith(_FOLDER) or not digits.isdigit():
            continue
        try:
            folder = os.lstat(os.path.join(place, name))
        except OSError:
            continue
        if str(folder.st_uid) == digits and folder.st_uid != os.geteuid():
            found.append((folder.st_uid, folder.st_gid))
    return found


def as_user(user, work):
    """Work with the rights of a user and a group alone, so that no link leads root anywhere; gives the code."""
    child = os.fork()
    if child == 0:
        code = UNSENT
        try:
            os.setgroups([])
            os.setgid(user[1])
            os.setuid(user[0])
            code = work()
        except Exception as error:
            _say("user %d: %s: %s" % (user[0], type(error).__name__, error))
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else UNSENT


def register_dataset(name, version, status="SUCCESS", **more):
    """Tell of a version of a dataset, from an old script; tells whether it is on its way."""
    return _register("dataset", dict(more, name=name, version=version, status=status))


def register_process(name, status, **more):
    """Tell of a run of a process, from an old script; tells whether it is on its way."""
    return _register("process", dict(more, name=name, status=status))


def _register(kind, body):
    environment = os.environ
    place = environment.get("LINEAGE_BRIDGE_SPOOL") or DEFAULT_PLACE
    url = environment.get("LINEAGE_BRIDGE_URL") or DEFAULT_URL
    return registered(kind, body, Spool(place), url, environment.get("LINEAGE_BRIDGE_API_KEY"))


def registered(kind, body, spool, url, api_key):
    """Keep a registration and let it be brought; tells whether there was room for it."""
    body.setdefault("time", _iso(time.time()))
    if kind == "dataset":
        body = registered_dataset(body)
    if not spool.add(kind, body):
        spool.lose()
        return False
    bring_later(spool, url, api_key)
    return True


def registered_dataset(body):
    """Name the dataset that is registered as `run` names those of its options."""
    name, namespace = str(body["name"]), body.get("namespace")
    known = named_dataset(str(namespace), name, _here()) if namespace else dataset(name, _here())
    found = dict(known.pop("facets", {}), **body)
    found.update(known)
    if isinstance(found.get("path"), str):
        found["path"] = _without_login(found["path"]) if "://" in found["path"] else _absolute(found["path"], _here())
    return found


def bring_later(spool, url, api_key):
    """Bring what waits in a process of its own, for which nobody waits."""
    try:
        child = os.fork()
        if child == 0:
            try:
                _detach()
                if os.fork() == 0:
                    deliver(spool, Service(url, api_key), time.monotonic() + PATIENCE_SECONDS)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
    except OSError:
        pass  # the next call brings it


def parser():
    """Read the words of the command line."""
    import argparse

    environment = os.environ
    both = argparse.ArgumentParser(add_help=False)
    both.add_argument("--url", default=environment.get("LINEAGE_BRIDGE_URL") or DEFAULT_URL, help="the service")
    both.add_argument("--api-key", default=environment.get("LINEAGE_BRIDGE_API_KEY"), help="its key, scope ingest")
    place = environment.get("LINEAGE_BRIDGE_SPOOL") or DEFAULT_PLACE
    both.add_argument("--spool", default=place, help="where each user's events wait in a folder (%(default)s)")
    words = argparse.ArgumentParser(prog="lineage-bridge-agent", description=__doc__.split("\n\n")[0])
    commands = words.add_subparsers(dest="what", metavar="COMMAND")
    one = commands.add_parser("run", parents=[both], help="run a command, and tell how it went")
    add_options(one)
    commands.add_parser("flush", parents=[both], help="bring all that waits")
    installed = commands.add_parser("install", help="copy this file to where jobs find it")
    installed.add_argument("path", help="such as /usr/local/bin/lineage-bridge-agent")
    for kind, given in (("dataset", ("name", "version", "status")), ("process", ("name", "status"))):
        registered = commands.add_parser("register_" + kind, parents=[both], help="tell of a %s" % kind)
        for name in given:
            registered.add_argument(name, nargs="?" if name == "status" and kind == "dataset" else None)
    return words


def add_options(one):
    """Add the options of `run`, and the command behind them."""
    import argparse

    one.add_argument("--job", help="its name: BOX/JOB of Autosys, or NAMESPACE=NAME; else AUTO_JOB_NAME")
    one.add_argument("--run-id", help="the id of the run: a number of Autosys, or any other; else AUTORUN")
    one.add_argument(
        "--attempt", type=or_mistake(int), help="which try of this run it is; else they are counted here"
    )
    one.add_argument("--input", action="append", help="a dataset it reads: a path, a URL, or NAMESPACE=NAME")
    one.add_argument("--output", action="append", help="a dataset it writes")
    one.add_argument("--manifest", help="a JSON file that the command writes: outputs and inputs with rows, versions")
    one.add_argument("--count", action="store_true", help="count the lines of outputs, once the command has ended")
    one.add_argument("--checksum", action="store_true", help="compute the checksums of outputs, as above")
    one.add_argument("--log", help="where its log lies")
    one.add_argument(
        "--max-exit-success", type=or_mistake(int), default=0, help="the greatest exit code that is a success"
    )
    one.add_argument("--success-codes", type=or_mistake(codes), help="exit codes that are successes, such as 0,4-8")
    one.add_argument(
        "--fail-codes", type=or_mistake(codes), help="exit codes that are failures: all others are successes"
    )
    one.add_argument(
        "--heartbeat", type=or_mistake(float), default=HEARTBEAT_SECONDS, help="seconds between signs of life"
    )
    linger = LINGER_SECONDS if os.getpid() == 1 else 0.0
    one.add_argument(
        "--linger",
        type=or_mistake(float),
        default=linger,
        help="seconds to wait for the end to be sent (%(default)s)",
    )
    one.add_argument("command", nargs=argparse.REMAINDER, help="-- and the command with its words")


def main(arguments=None):
    """Do what the command line says."""
    words = parser()
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        options, unknown = words.parse_known_args(given)
    except SystemExit as error:
        if error.code and given[:1] == ["run"] and "--" in given and given[given.index("--") + 1 :]:
            run_untold(given[given.index("--") + 1 :])
        raise
    if options.what == "run":
        return run_as_told(words, options, unknown)
    if unknown:
        words.error("unrecognized arguments: %s" % " ".join(unknown))
    if options.what == "flush":
        return flush(options)
    if options.what == "install":
        return install(options.path)
    if options.what in ("register_dataset", "register_process"):
        return register(options)
    words.print_help(sys.stderr)
    return USAGE


def run_as_told(words, options, unknown):
    """Run a command with its options; where one of these is a mistake, that is said and nobody is told of the run."""
    command = options.command
    if "--" in (command if unknown else command[:1]):
        command = command[command.index("--") + 1 :]  # what stands before it may be the value of what is not known
    if not command:
        words.error("run: name the command behind --")
    wrong = ["%s is not known" % one for one in unknown]
    for name, value in sorted(vars(options).items()):
        if isinstance(value, Mistake):
            wrong.append("--%s cannot be %r" % (name.replace("_", "-"), str(value)))
    if wrong:
        _say("; ".join(wrong))
        run_untold(command)
    options.command = command
    return run(options, os.environ)


def run_untold(words):
    """Run a command though nobody can be told of it, and end as it does."""
    _say("the command is run all the same, and nobody is told of it")
    end_as(*Command(words).run())


def register(options):
    """Register what the command line says; gives the code."""
    body = {"name": options.name, "status": options.status or "SUCCESS"}
    if options.what == "register_dataset":
        body["version"] = options.version
    spool = Spool(options.spool)
    if registered(options.what.split("_")[1], body, spool, options.url, options.api_key):
        return 0
    _say("%s: cannot be written, is not ours alone, or is full" % spool.folder)
    return UNSENT


def install(path):
    """Copy this file to where jobs find it, for everybody to run; whoever runs the old one meanwhile is not hurt."""
    if os.path.isdir(path):
        path = os.path.join(path, "lineage-bridge-agent")
    part = "%s.%d" % (path, os.getpid())
    try:
        with open(os.path.realpath(__file__), "rb") as ours, open(part, "wb") as file:
            file.write(ours.read())
        os.chmod(part, 0o755)  # noqa: S103 - everybody's jobs run it
        os.rename(part, path)
    except OSError as error:
        _say("%s: %s" % (path, error.strerror))
        return UNSENT
    _say("installed as %s" % path)
    return 0


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
    return text.lower() in NAMESPACE_WORDS or (
        text[:1].isalpha() and text.replace("_", "").isalnum() and text.upper() == text
    )


def _here():
    """Name the folder in which we are; what was removed meanwhile has no name."""
    try:
        return os.getcwd()
    except OSError:
        return "/"


def _absolute(path, folder):
    return os.path.normpath(os.path.join(folder, path))


def _without_login(address):
    """Take a password, and whatever stands behind a question mark, out of an address."""
    scheme, found, rest = address.partition("://")
    if scheme.lower() not in _CONTAINERS:
        rest = _without_user(rest)
    return scheme + found + rest.partition("?")[0].partition(";")[0]


def _without_user(rest):
    """Take `user:password@` off; a password may have a slash, and what is no number behind the host is no port."""
    host, slash, path = rest.partition("/")
    if "@" in host:
        return host.rpartition("@")[2] + slash + path
    said = host.partition(":")[2]
    return path.partition("@")[2] if said and not said.isdigit() and "@" in path else rest


def _above_streams(descriptor):
    """Move a descriptor above the standard streams, where one of these is closed."""
    import fcntl

    if descriptor > 2:
        return descriptor
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return moved


def _kind(name):
    parts = name.rsplit(".", 2)
    return parts[1] if len(parts) == 3 and parts[2] == "json" else ""


def _locked(descriptor, shared):
    """Lock a file, alone or with others; only when somebody else has it, it is not."""
    import fcntl

    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EAGAIN, errno.EACCES)
    return True


def _detach(*keep):
    """Leave the job's session, folder, signals, streams and files: nobody shall wait for what this process holds."""
    os.setsid()
    os.chdir("/")
    for name in _FORWARDED:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    _let_go(*keep)


def _let_go(*keep):
    """Leave all streams and files but these."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    try:
        opened = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        opened = list(range(3, 1024))
    for one in opened:
        if one > 2 and one not in keep:
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
