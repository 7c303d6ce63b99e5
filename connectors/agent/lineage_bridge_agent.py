#!/usr/bin/env python3
"""lineage-bridge-agent: runs a command and reports the run to lineage-bridge.

One file, Python 3.6 or newer, standard library only: copy it to the machines that run jobs.

  lineage-bridge-agent install /usr/local/bin/lineage-bridge-agent
  lineage-bridge-agent run --output /data/out.csv -- ./load.sh 2026-01-31
  lineage-bridge-agent check
  lineage-bridge-agent flush
  lineage-bridge-agent register_dataset s3://bucket/out/v1 2026-01-31 SUCCESS
  lineage-bridge-agent register_process BOX/JOB SUCCESS

Events are first written to a spool, one file per event. A background process (the sender) delivers the events to the
service. Events that cannot be delivered stay in the spool until the next call or `flush`. A failure of the agent or
the service never changes the outcome of the command: the command uses the agent's own standard streams, and the agent
exits like the command, with the same exit code or by the same signal.

Environment variables: LINEAGE_BRIDGE_URL, LINEAGE_BRIDGE_API_KEY, LINEAGE_BRIDGE_SPOOL; from Autosys, AUTO_JOB_NAME,
AUTOSERV and AUTORUN. The agent sets LINEAGE_BRIDGE_PARENT_RUN for the command; an agent started by the command then
reports this run as its parent.
"""

import errno
import json
import os
import signal
import stat
import sys
import time

# --- Constants ---

DEFAULT_URL = "http://127.0.0.1:8090"
#: Directory on a local disk that contains each user's spool.
DEFAULT_SPOOL_ROOT = "/var/tmp"
_SPOOL_PREFIX = "lineage-bridge-spool-"
#: Capacity of a spool. If the spool is full, run events are sent directly, and dropped if the service does not accept
#: them; registrations are dropped.
MAX_SPOOL_FILES, MAX_SPOOL_BYTES = 20000, 200 << 20
REQUEST_TIMEOUT_SECONDS = 5.0
#: Interval between the RUNNING events of a run.
HEARTBEAT_SECONDS = 300.0
#: How long the sender retries after the command has ended.
DELIVERY_SECONDS = 60.0
#: How long an agent that is PID 1 of a container waits for its sender, which is killed when PID 1 exits.
LINGER_SECONDS = 2.0
#: Retention of attempt counters (one file per run), and the minimum interval between two cleanups.
ATTEMPT_RETENTION_SECONDS, MAX_ATTEMPT_FILES, CLEANUP_INTERVAL_SECONDS = 7 * 86400.0, 20000, 3600.0
#: How long to wait for a reply from a child process of the agent.
LOCAL_REPLY_SECONDS = 1.0
#: Maximum delay with which the processes of a group receive a signal that is sent to the group.
GROUP_SIGNAL_SECONDS = 0.002
MAX_MANIFEST_PROBLEMS = 10
EXIT_NOT_FOUND, EXIT_NOT_STARTED, EXIT_USAGE, EXIT_UNDELIVERED = 127, 126, 2, 1
_FORWARDED_SIGNALS = (
    "SIGTERM",
    "SIGINT",
    "SIGHUP",
    "SIGQUIT",
    "SIGUSR1",
    "SIGUSR2",
    "SIGCONT",
    "SIGWINCH",
    "SIGALRM",
)
_READ_BYTES = 1 << 20
_PARENT_RUN_VARIABLE = "LINEAGE_BRIDGE_PARENT_RUN"
_AUTOSYS_VARIABLES = ("AUTO_JOB_NAME", "AUTOSERV", "AUTORUN")
#: Namespaces that NAMESPACE=NAME accepts in any letter case; it also accepts URLs, and any other word in capitals.
NAMESPACE_KEYWORDS = frozenset(
    "abfs abfss adl bigquery cassandra db2 dbfs file gcs gs hdfs hive iceberg impala kafka local mariadb mongodb"
    " mssql mysql nfs oracle postgres postgresql redshift s3 s3a s3n sftp snowflake sqlite sqlserver teradata unix"
    " vertica wasb wasbs".split()
)
_FILE_NAMESPACES = frozenset(("file", "local", "nfs", "unix"))
#: Schemes of URLs with a container before the `@`, where other URLs have credentials.
_CONTAINER_SCHEMES = frozenset(("abfs", "abfss", "wasb", "wasbs"))
_RUN_EVENT = "run_event"
_ROUTES = {
    _RUN_EVENT: "/api/v1/run_event",
    "dataset": "/api/v1/legacy/register_dataset",
    "process": "/api/v1/legacy/register_process",
}
#: Files with one byte per dropped event. There are two, because the next run and the next `flush` both report drops.
_DROPPED_FOR_RUN, _DROPPED_FOR_FLUSH = ".dropped-by-run", ".dropped"


# --- Helpers: paths, JSON, time, locks, processes ---


def _current_dir():
    try:
        return os.getcwd()
    except OSError:
        return "/"  # the working directory was deleted


def _absolute_path(path, base_dir):
    return os.path.normpath(os.path.join(base_dir, path))


def _to_json(body):
    return json.dumps(_to_utf8(body), default=str).encode("utf-8")


def _to_utf8(value):
    """Replace bytes that are not UTF-8, which Python represents as surrogates in paths and arguments."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {_to_utf8(str(key)): _to_utf8(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_utf8(item) for item in value]
    return value


def _iso_time(timestamp):
    seconds = int(timestamp)
    microseconds = int((timestamp - seconds) * 1e6)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + ".%06d+00:00" % microseconds


def _is_uuid(text):
    return len(text) == 36 and text.count("-") == 4


def _new_uuid():
    digits = bytearray(os.urandom(16))
    digits[6], digits[8] = digits[6] & 0x0F | 0x40, digits[8] & 0x3F | 0x80
    text = digits.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _hostname():
    return os.uname()[1]


def _try_lock(descriptor, shared):
    """Lock a file without waiting; return False only if another process holds a conflicting lock."""
    import fcntl

    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        # Any other error means that the file system does not support locks; continue without one.
        return error.errno not in (errno.EAGAIN, errno.EACCES)
    return True


def _move_above_stdio(descriptor):
    """Move a descriptor above 2; if a standard stream is closed, a new descriptor may have the stream's number."""
    import fcntl

    if descriptor > 2:
        return descriptor
    new_descriptor = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return new_descriptor


def wait_readable(descriptor, seconds):
    """Wait until a descriptor is readable; return False on timeout."""
    import math
    import select

    # Unlike select, poll accepts descriptors above 1023: the agent may inherit many.
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(None if seconds is None else max(0, math.ceil(seconds * 1000))))


def _detach_from_job(*keep):
    """Detach from the job's session, directory, signals, streams and files, so that none of them stays in use."""
    os.setsid()
    os.chdir("/")
    for name in _FORWARDED_SIGNALS:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    _close_descriptors(*keep)


def _close_descriptors(*keep):
    """Redirect the standard streams to /dev/null and close all other descriptors except `keep`."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    try:
        descriptors = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        descriptors = list(range(3, 1024))
    for descriptor in descriptors:
        if descriptor > 2 and descriptor not in keep:
            try:
                os.close(descriptor)
            except OSError:
                pass


def _flush_streams():
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            pass


def _print(message):
    try:
        if sys.stderr is not None:
            sys.stderr.write("lineage-bridge-agent: %s\n" % message)
            sys.stderr.flush()
    except (OSError, ValueError):
        pass


# --- Names of jobs and datasets ---


def job_name(job_option, environment, command):
    """Return namespace and name of the job: from --job, else from the Autosys variables, else from the command."""
    if job_option:
        namespace, separator, name = job_option.rpartition("=")
        return (namespace, name) if separator else ("AUTOSYS", job_option)
    if environment.get("AUTO_JOB_NAME"):
        instance = environment.get("AUTOSERV")
        namespace = "AUTOSYS:%s" % instance if instance else "AUTOSYS"
        return namespace, environment["AUTO_JOB_NAME"]
    name = os.path.basename(command[0]) if command else "unknown"
    return "SHELL:%s" % _hostname(), name


def parse_dataset(text, base_dir):
    """Parse a dataset from the command line: a path relative to `base_dir`, a URL, or NAMESPACE=NAME."""
    namespace, separator, name = text.partition("=")
    server = namespace.partition("://")[2]
    is_server = server and "/" not in server and "?" not in server
    if separator and (is_server or _is_namespace_keyword(namespace)):
        return build_dataset(namespace, name, base_dir)
    if "://" in text:
        url = _without_credentials(text)
        return {"name": url, "namespace": url.partition("://")[0].upper()}
    return build_dataset("FILE", text, base_dir)


def build_dataset(namespace, name, base_dir):
    """Build a dataset from an explicit namespace and name; the name in a file namespace becomes an absolute path."""
    if "://" in name:
        return {"namespace": _without_credentials(namespace), "name": _without_credentials(name)}
    if namespace.lower() in _FILE_NAMESPACES:
        path = _absolute_path(name, base_dir)
        return {"namespace": namespace, "name": path, "facets": {"path": path}}
    return {"namespace": _without_credentials(namespace), "name": name}


def merge_datasets(datasets, manifest_entries, base_dir):
    """Merge manifest entries into a list of datasets: add facets to known datasets, and append new datasets."""
    merged_datasets = list(datasets)
    for entry in manifest_entries:
        name, namespace = entry.get("name") or entry.get("path"), entry.get("namespace")
        dataset = build_dataset(namespace, name, base_dir) if namespace else parse_dataset(name, base_dir)
        matches = (
            other_dataset
            for other_dataset in merged_datasets
            if _is_same_dataset(other_dataset, dataset, compare_namespaces=bool(namespace))
        )
        known_dataset = next(matches, None)
        if known_dataset is None:
            merged_datasets.append(dataset)
        else:
            dataset = known_dataset
        facets = dataset.setdefault("facets", {})
        for key, value in entry.items():
            if key == "path" and isinstance(value, str):
                facets[key] = _normalize_path(value, base_dir)
            elif key not in ("name", "namespace"):
                facets[key] = value
    return merged_datasets


def _is_same_dataset(first, second, compare_namespaces):
    if first["name"] != second["name"]:
        return False
    if not compare_namespaces:
        return True
    first_namespace, second_namespace = first["namespace"].lower(), second["namespace"].lower()
    if first_namespace in _FILE_NAMESPACES and second_namespace in _FILE_NAMESPACES:
        return True
    return first_namespace == second_namespace


def _is_namespace_keyword(text):
    is_uppercase_word = text[:1].isalpha() and text.replace("_", "").isalnum() and text.upper() == text
    return is_uppercase_word or text.lower() in NAMESPACE_KEYWORDS


def _normalize_path(path, base_dir):
    return _without_credentials(path) if "://" in path else _absolute_path(path, base_dir)


def _without_credentials(url):
    """Remove user, password, query string and `;` parameters from a URL."""
    scheme, separator, address = url.partition("://")
    if scheme.lower() not in _CONTAINER_SCHEMES:
        address = _without_user(address)
    return scheme + separator + address.partition("?")[0].partition(";")[0]


def _without_user(address):
    """Remove `user:password@`; the password may contain a slash, as AWS secret keys do."""
    host, slash, path = address.partition("/")
    if "@" in host:
        return host.rpartition("@")[2] + slash + path
    port = host.partition(":")[2]
    # A port is numeric; anything else after the colon is the beginning of a password.
    if port and not port.isdigit() and "@" in path:
        return path.partition("@")[2]
    return address


# --- Manifest and output files ---


def read_manifest(path):
    """Read the manifest of a command.

    Returns the valid entries by side ("inputs", "outputs") and at most MAX_MANIFEST_PROBLEMS problems.
    """
    try:
        if not os.path.isfile(path):
            # Opening a named pipe would block until a process writes to it.
            return {}, ["is not a regular file" if os.path.exists(path) else "does not exist"]
        with open(path, "rb") as file:
            content = json.loads(file.read().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        return {}, ["cannot be read: %s" % (getattr(error, "strerror", None) or error)]
    if isinstance(content, list):
        content = {"outputs": content}
    if not isinstance(content, dict) or not ("inputs" in content or "outputs" in content):
        return {}, ["has neither inputs nor outputs"]
    entries, problems = {}, []
    for side in ("inputs", "outputs"):
        entries[side] = parse_manifest_entries(side, content.get(side) or [], problems)
    return entries, problems[:MAX_MANIFEST_PROBLEMS]


def parse_manifest_entries(side, entries, problems):
    """Return the valid entries of one side as objects, and append a message to `problems` for each invalid entry.

    An entry is an object with a name or path, or a string in the format of --input and --output.
    """
    if not isinstance(entries, list):
        problems.append("%s is not a list" % side)
        return []
    datasets = []
    for index, entry in enumerate(entries):
        dataset = {"name": entry} if isinstance(entry, str) else entry
        if _is_valid_entry(dataset):
            datasets.append(dataset)
        else:
            problems.append("%s[%d] is not a valid dataset" % (side, index))
    return datasets


def _is_valid_entry(entry):
    if not isinstance(entry, dict):
        return False
    name, namespace = entry.get("name") or entry.get("path"), entry.get("namespace")
    return isinstance(name, str) and bool(name) and (not namespace or isinstance(namespace, str))


def print_manifest_problems(path):
    """Print the problems of a manifest; give up after LOCAL_REPLY_SECONDS."""
    reader, writer = (_move_above_stdio(descriptor) for descriptor in os.pipe())
    # A child process reads the file, because reading may block, for example on a stale network mount.
    if os.fork() == 0:
        try:
            _detach_from_job(writer)
            _, found_problems = read_manifest(path)
            os.write(writer, "; ".join(found_problems).encode("utf-8", "replace"))
        finally:
            os._exit(0)
    os.close(writer)
    problems = os.read(reader, _READ_BYTES) if wait_readable(reader, LOCAL_REPLY_SECONDS) else b""
    if problems:
        _print("%s: %s" % (path, problems.decode("utf-8")))


def add_file_size(dataset):
    """Add the size of a file, or the total size and file count of a directory; return whether facets changed."""
    path = (dataset.get("facets") or {}).get("path")
    if not isinstance(path, str) or "://" in path or "size" in dataset["facets"]:
        return False
    try:
        if os.path.isdir(path):
            files = [os.path.join(parent, name) for parent, _, names in os.walk(path) for name in names]
            dataset["facets"].update({"size": sum(map(os.path.getsize, files)), "files": len(files)})
        elif os.path.exists(path):
            dataset["facets"]["size"] = os.path.getsize(path)
        else:
            dataset["facets"]["missing"] = True
    except OSError:
        return False
    return True


def add_line_counts_and_checksums(event, with_count, with_checksum):
    """Add line counts and SHA-256 checksums to outputs that are files; return whether any facet was added."""
    has_added = False
    for dataset in event.get("outputs") or ():
        facets = dataset.get("facets") or {}
        path = facets.get("path")
        if not isinstance(path, str) or not os.path.isfile(path):
            continue
        try:
            line_count, digest = _count_and_hash(path)
        except OSError:
            continue
        if with_count and "rows" not in facets:
            facets["rows"] = line_count
            has_added = True
        if with_checksum and "checksum" not in facets:
            facets["checksum"] = "sha256:" + digest
            has_added = True
    return has_added


def _count_and_hash(path):
    """Return the number of lines, including a last line without a newline, and the SHA-256 digest."""
    import hashlib

    line_count, digest, last_byte = 0, hashlib.sha256(), b"\n"
    with open(path, "rb") as file:
        chunk = file.read(_READ_BYTES)
        while chunk:
            line_count += chunk.count(b"\n")
            digest.update(chunk)
            last_byte = chunk[-1:]
            chunk = file.read(_READ_BYTES)
    return line_count + (0 if last_byte == b"\n" else 1), digest.hexdigest()


# --- Spool ---


class Spool:
    """A directory with the events of one user that have not been delivered yet.

    <microseconds>-<pid>-<random>.<kind>.json  an event; it is written under a hidden name and renamed when complete
    refused/                                   events that the service rejected, with the reasons in .reason files
    attempts/                                  counters of starts, one file per run; .swept marks the last cleanup
    .lock                                      locked by the process that delivers the events
    .dropped, .dropped-by-run                  counters of dropped events
    """

    def __init__(self, root, max_files=MAX_SPOOL_FILES, max_bytes=MAX_SPOOL_BYTES):
        # Absolute, because the sender changes its working directory.
        self.directory = os.path.join(_absolute_path(root, _current_dir()), _SPOOL_PREFIX + str(os.geteuid()))
        self.max_files = max_files
        self.max_bytes = max_bytes
        self._adds_until_check = 0

    def is_private(self):
        """Return whether the spool is a real directory (not a link) that only this user can write to.

        This matters because its events are sent with this user's API key.
        """
        try:
            status = os.lstat(self.directory)
        except OSError:
            return False
        return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022

    def add(self, kind, body):
        """Write an event; return False if the spool is full or not writable."""
        name = ""
        try:
            self._create_directory()
            if self._is_full():
                return False
            name = "%020d-%d-%s.%s.json" % (int(time.time() * 1e6), os.getpid(), os.urandom(6).hex(), kind)
            temporary_path = os.path.join(self.directory, "." + name)
            descriptor = os.open(temporary_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(_to_json(body))
                file.flush()
                os.fsync(file.fileno())
            os.rename(temporary_path, os.path.join(self.directory, name))
        except Exception:  # must not affect the command
            self.remove("." + name)
            return False
        return True

    def pending_names(self):
        """Return the names of the pending events, oldest first."""
        try:
            names = os.listdir(self.directory) if self.is_private() else []
        except OSError:
            return []
        return sorted(name for name in names if _event_kind(name) in _ROUTES and not name.startswith("."))

    def read(self, name):
        """Return the content of an event, or None if it is no longer pending or not a regular file."""
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # do not block on a named pipe
            with os.fdopen(os.open(os.path.join(self.directory, name), flags), "rb") as file:
                return file.read() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
        except OSError:
            return None

    def remove(self, name):
        """Delete an event that may already have been deleted."""
        try:
            os.unlink(os.path.join(self.directory, name))
        except OSError:
            pass

    def reject(self, name, reason):
        """Move an event that the service rejected to `refused/` and add the reason; return whether that succeeded."""
        try:
            directory = self._create_directory("refused")
            with open(os.path.join(directory, name + ".reason"), "wb") as file:
                file.write(reason.encode("utf-8", "replace"))
            os.rename(os.path.join(self.directory, name), os.path.join(directory, name))
        except OSError:
            return False
        return True

    def lock(self):
        """Take the delivery lock; return the locked file, or None if the lock is taken or the spool is unusable."""
        try:
            if not self.is_private():
                return None
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
            file = os.fdopen(os.open(os.path.join(self.directory, ".lock"), flags, 0o600), "r+")
        except OSError:
            return None
        if _try_lock(file.fileno(), shared=False):
            return file
        file.close()
        return None

    def blocked_reason(self):
        """Return why pending events cannot be delivered now, or None if no events are pending."""
        if os.path.lexists(self.directory) and not self.is_private():
            return "%s is not a directory, belongs to another user, or is writable by other users" % self.directory
        return "another sender is running" if self.pending_names() else None

    def record_dropped(self):
        """Record that an event was neither written to the spool nor accepted by the service."""
        for counter in (_DROPPED_FOR_RUN, _DROPPED_FOR_FLUSH):
            try:
                with open(os.path.join(self._create_directory(), counter), "ab") as file:
                    file.write(b".")
            except OSError:
                pass

    def dropped_count(self, counter):
        """Return the number of dropped events that have not been reported yet."""
        return self._file_size(counter) if self.is_private() else 0

    def subtract_dropped(self, counter, count):
        """Subtract dropped events that have been reported; other processes may have counted more since then."""
        try:
            if count:
                os.truncate(os.path.join(self.directory, counter), max(0, self._file_size(counter) - count))
        except OSError:
            pass

    def next_attempt(self, job, run_id):
        """Count a start of this run and return the attempt number, which Autosys does not pass to the job."""
        import hashlib

        key = hashlib.sha256(("%s\0%s" % (job, run_id)).encode("utf-8", "replace")).hexdigest()[:32]
        try:
            path = os.path.join(self._create_directory("attempts"), key)
            for _ in range(100):  # limited, in case cleanups keep deleting the counter
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
                try:
                    # Cleanup deletes a counter under an exclusive lock. If this one was deleted, create it again.
                    if _try_lock(descriptor, shared=True) and os.fstat(descriptor).st_nlink:
                        os.write(descriptor, b".")
                        return max(1, os.lseek(descriptor, 0, os.SEEK_CUR))
                finally:
                    os.close(descriptor)
        except OSError:
            pass
        return 1

    def remove_old_attempts(self):
        """Delete old and surplus attempt counters, at most once per CLEANUP_INTERVAL_SECONDS."""
        directory = os.path.join(self.directory, "attempts")
        marker = os.path.join(directory, ".swept")
        now = time.time()
        try:
            if not self.is_private():
                return
            if os.path.exists(marker) and now - os.stat(marker).st_mtime < CLEANUP_INTERVAL_SECONDS:
                return
            with open(marker, "ab"):
                os.utime(marker, None)
            counters = sorted(
                (entry.stat().st_mtime, entry.path) for entry in os.scandir(directory) if entry.path != marker
            )
        except OSError:
            return
        surplus_count = len(counters) - MAX_ATTEMPT_FILES
        for index, (modified_at, path) in enumerate(counters):
            is_old = now - modified_at >= ATTEMPT_RETENTION_SECONDS
            if index >= surplus_count and not is_old:
                return
            self._remove_attempt_counter(path, modified_at)

    def _remove_attempt_counter(self, path, modified_at):
        """Delete a counter unless it was used since `modified_at`."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
            try:
                if _try_lock(descriptor, shared=False) and os.fstat(descriptor).st_mtime == modified_at:
                    os.unlink(path)
            finally:
                os.close(descriptor)
        except OSError:
            pass

    def _create_directory(self, *subdirectories):
        """Create the spool or a directory in it; raises PermissionError if other users can write to the spool."""
        os.makedirs(self.directory, 0o700, exist_ok=True)
        if not self.is_private():
            raise PermissionError(self.directory)
        directory = os.path.join(self.directory, *subdirectories)
        os.makedirs(directory, 0o700, exist_ok=True)
        return directory

    def _is_full(self):
        # Listing the directory is slow, so do it again only after 1/16 of the free capacity has been used.
        self._adds_until_check -= 1
        if self._adds_until_check > 0:
            return False
        names = self.pending_names()
        self._adds_until_check = (self.max_files - len(names)) // 16
        if len(names) >= self.max_files:
            return True
        if len(names) * (4 << 10) < self.max_bytes:  # far from full at 4 KiB per file: do not read the file sizes
            return False
        return sum(self._file_size(name) for name in names) >= self.max_bytes

    def _file_size(self, name):
        try:
            return os.path.getsize(os.path.join(self.directory, name))
        except OSError:
            return 0


def _event_kind(file_name):
    parts = file_name.rsplit(".", 2)
    return parts[1] if len(parts) == 3 and parts[2] == "json" else ""


# --- Connection to the service ---


class ServiceConnection:
    """HTTP connection to lineage-bridge, opened by the first request and kept open."""

    def __init__(self, url, api_key, timeout=REQUEST_TIMEOUT_SECONDS):
        self._url = url
        self._api_key = api_key
        self._timeout = timeout
        self._connection = None
        self._base_path = ""

    def send(self, kind, body, content_type="application/json"):
        """Send an event; return status and text of the response, or None and the error."""
        headers = {"Content-Type": content_type}
        if self._api_key:
            headers["Authorization"] = "Bearer " + self._api_key
        while True:
            is_reused = self._connection is not None
            try:
                if not is_reused:
                    self._connect()
                self._connection.request("POST", self._base_path + _ROUTES[kind], body, headers)
                response = self._connection.getresponse()
                return response.status, response.read(2000).decode("utf-8", "replace")
            except Exception as error:  # after any error, the caller keeps the event
                self.close()
                if not is_reused:  # a server may have closed a reused connection, so try once with a new one
                    return None, "%s: %s" % (type(error).__name__, error)

    def close(self):
        """Close the connection; the next request opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self):
        import http.client
        from urllib.parse import urlsplit

        url = urlsplit(self._url)
        connection_class = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        self._base_path = url.path.rstrip("/")
        self._connection = connection_class(url.hostname or "", url.port, timeout=self._timeout)


# --- Delivery ---


def deliver_pending(spool, connection, deadline=None):
    """Deliver all pending events, including events that are added during the delivery.

    Returns the number of delivered events, the number of rejected events, and why delivery stopped early (or None).
    `deadline` is a `time.monotonic()` value.
    """
    lock = spool.lock()
    if lock is None:
        return 0, 0, spool.blocked_reason()
    outcomes, attempted_names = [], set()
    stop_reason = None
    try:
        while stop_reason is None:
            names = [name for name in spool.pending_names() if name not in attempted_names]
            if not names:
                break
            attempted_names.update(names)
            stop_reason = deliver_files(spool, connection, names, outcomes, deadline)
    finally:
        connection.close()
        lock.close()
    stuck_count = len(attempted_names.intersection(spool.pending_names()))
    if stop_reason is None and stuck_count:
        plural = "s" if stuck_count > 1 else ""
        stop_reason = "%d event%s cannot be read, deleted or moved to refused/" % (stuck_count, plural)
    return outcomes.count("delivered"), outcomes.count("rejected"), stop_reason


def deliver_files(spool, connection, names, outcomes, deadline):
    """Deliver events in order and append their outcomes; return why delivery stopped early, or None."""
    for name in names:
        if deadline is not None and time.monotonic() > deadline:
            return "delivery deadline reached"
        outcome, stop_reason = deliver_file(spool, connection, name)
        outcomes.append(outcome)
        if stop_reason is not None:
            return stop_reason
    return None


def deliver_file(spool, connection, name):
    """Deliver one event.

    Returns "delivered", "rejected" or None (still pending), and why delivery must stop (None to continue).
    """
    body = spool.read(name)
    if body is None:
        return None, None
    status, response_text = connection.send(_event_kind(name), body)
    if status is None:
        return None, response_text
    if 200 <= status < 300:
        spool.remove(name)
        return "delivered", None
    if status in (400, 413, 422):
        # The service would reject this event again.
        was_moved = spool.reject(name, "%d %s" % (status, response_text))
        return ("rejected" if was_moved else None), None
    return None, "%d %s" % (status, response_text)


def send_or_drop(spool, connection, event):
    """Send a run event that did not fit into the spool; count the event as dropped unless the service accepts it."""
    status, _ = connection.send(_RUN_EVENT, _to_json(event))
    if status is None or not 200 <= status < 300:
        spool.record_dropped()


# --- Run of a command ---


class CommandRun:
    """A run of a command: its identity, its datasets and its events."""

    def __init__(self, options, environment, spool):
        self.options = options
        # Needed because the sender resolves paths after it has left the working directory of the job.
        self._base_dir = _current_dir()
        self.manifest = _absolute_path(options.manifest, self._base_dir) if options.manifest else None
        self._datasets = {
            "inputs": [parse_dataset(text, self._base_dir) for text in options.input or ()],
            "outputs": [parse_dataset(text, self._base_dir) for text in options.output or ()],
        }
        self.parent = parent_run(environment)
        self._autosys = [environment.get(name) for name in _AUTOSYS_VARIABLES]
        # If there is a parent, the Autosys variables describe the parent and not this run.
        own_environment = {} if self.parent else environment
        self.namespace, self.name = job_name(options.job, own_environment, options.command)
        self.run_id = options.run_id or own_environment.get("AUTORUN") or ""
        if not self.run_id:
            self.run_id = _new_uuid()
        elif "/" not in self.run_id and not _is_uuid(self.run_id):
            attempt = options.attempt or spool.next_attempt("%s/%s" % (self.namespace, self.name), self.run_id)
            self.run_id = "%s/%d" % (self.run_id, attempt)
        self.start = time.time()
        self._monotonic_start = time.monotonic()

    def event(self, event_type, has_ended=False, **facets):
        """Build an event; with `has_ended`, add the end time and the duration.

        The duration comes from the monotonic clock, so that a run never ends before its start if the system clock is
        set back.
        """
        elapsed_seconds = time.monotonic() - self._monotonic_start
        run = {"runId": self.run_id, "startTime": _iso_time(self.start), "facets": self._run_facets(facets)}
        if has_ended:
            run["endTime"] = _iso_time(self.start + elapsed_seconds)
            run["facets"]["durationSeconds"] = round(elapsed_seconds, 3)
        event = {
            "eventType": event_type,
            "eventTime": _iso_time(self.start + elapsed_seconds),
            "run": run,
            "job": {"namespace": self.namespace, "name": self.name},
        }
        for side, datasets in self._datasets.items():
            if datasets:
                # Copy the datasets, because details are added to those of one event only.
                event[side] = [dict(dataset, facets=dict(dataset.get("facets") or {})) for dataset in datasets]
        return event

    def end_event(self, event_type, exit_code, killed_by):
        """Build the end event without reading any files; `killed_by` is a signal number or None."""
        facets = {"exitCode": exit_code}
        if killed_by is not None:
            facets["signal"] = killed_by
        return self.event(event_type, has_ended=True, **facets)

    def add_dataset_details(self, event):
        """Add the manifest and the sizes of output files to an event; return whether anything was added."""
        manifest, problems = read_manifest(self.manifest) if self.manifest else ({}, [])
        if problems:
            event["run"]["facets"]["manifest"] = {"path": self.manifest, "problems": problems}
        for side in ("inputs", "outputs"):
            event[side] = merge_datasets(event.get(side) or [], manifest.get(side) or [], self._base_dir)
        has_added = bool(problems or any(manifest.values()))
        for dataset in event["outputs"]:
            has_added = add_file_size(dataset) or has_added
        return has_added

    def to_parent_variable(self):
        """Return the value of LINEAGE_BRIDGE_PARENT_RUN for the command; see parent_run."""
        job = {"namespace": self.namespace, "name": self.name}
        return json.dumps({"autosys": self._autosys, "parent": {"run": {"runId": self.run_id}, "job": job}})

    def _run_facets(self, extra_facets):
        facets = {"agent": {"host": _hostname(), "pid": os.getpid()}}
        if self.parent:
            facets["parent"] = self.parent
        if self.options.log:
            facets["log"] = {"path": _absolute_path(self.options.log, self._base_dir)}
        facets.update(extra_facets)
        return facets


def parent_run(environment):
    """Return the run of the command that started this agent, or None.

    Changed Autosys variables mean that Autosys has started another job, which only inherited the parent variable.
    """
    try:
        context = json.loads(environment.get(_PARENT_RUN_VARIABLE) or "{}")
        is_same_job = context.get("autosys") == [environment.get(name) for name in _AUTOSYS_VARIABLES]
        return context.get("parent") if is_same_job else None
    except (ValueError, AttributeError):
        return None


# --- Child command and signals ---


class ChildCommand:
    """The command, as a child process with the agent's own streams.

    Signals that only the agent receives are forwarded. Signals sent to the process group reach the command anyway.
    """

    def __init__(self, arguments):
        self._arguments = arguments
        self._signals = {getattr(signal, name) for name in (*_FORWARDED_SIGNALS, "SIGCHLD") if hasattr(signal, name)}
        # Signals are blocked and read with sigwait, so none is lost before the command starts or kills the agent.
        self._original_mask = signal.pthread_sigmask(signal.SIG_BLOCK, self._signals)
        self._original_handlers = {number: signal.signal(number, lambda *_: None) for number in self._signals}

    def run(self):
        """Run the command; return its exit code as a shell reports it, and the signal that killed it or None."""
        try:
            # Carries the errno of a failed exec; a successful exec closes it.
            errno_reader, errno_writer = (_move_above_stdio(descriptor) for descriptor in os.pipe())
            _flush_streams()
            child = os.fork()
        except OSError:
            self._exec()  # out of descriptors or processes, so run the command in place of the agent
        if child == 0:
            self._exec_in_child(errno_reader, errno_writer)
        os.close(errno_writer)
        # Started after the command, so a group signal in between may be delivered twice, but is never lost.
        probe = GroupSignalProbe()
        status = self._forward_signals_until_exit(child, probe)
        probe.stop()
        with os.fdopen(errno_reader, "rb") as file:
            exec_errno = file.read()
        if exec_errno:
            _print("%s: %s" % (self._arguments[0], os.strerror(int(exec_errno))))
            return (EXIT_NOT_FOUND if int(exec_errno) == errno.ENOENT else EXIT_NOT_STARTED), None
        if os.WIFSIGNALED(status):
            return 128 + os.WTERMSIG(status), os.WTERMSIG(status)
        return os.WEXITSTATUS(status), None

    def _exec_in_child(self, errno_reader, errno_writer):
        try:
            os.close(errno_reader)
            self._exec()
        except OSError as error:
            os.write(errno_writer, str(error.errno).encode("ascii"))
        finally:
            os._exit(EXIT_NOT_FOUND)

    def _exec(self):
        """Replace this process with the command, with the signal mask and handlers the agent was started with."""
        for number, handler in self._original_handlers.items():
            # A callable is Python's own SIGINT handler.
            signal.signal(number, signal.SIG_DFL if handler is None or callable(handler) else handler)
        for name in ("SIGPIPE", "SIGXFSZ"):
            signal.signal(getattr(signal, name), signal.SIG_DFL)  # Python ignores these
        signal.pthread_sigmask(signal.SIG_SETMASK, self._original_mask)
        try:
            os.execvp(self._arguments[0], self._arguments)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            os.execv("/bin/sh", ["/bin/sh", *self._arguments])  # a script without a #! line, as in a shell

    def _forward_signals_until_exit(self, child, probe):
        """Forward signals until the command exits; return its wait status."""
        while True:
            try:
                exited_pid, status = os.waitpid(child, os.WNOHANG)
            except ChildProcessError:
                return 0  # already reaped, so its exit code is lost
            if exited_pid:
                return status
            number = signal.sigwait(self._signals)
            if number != signal.SIGCHLD and not probe.was_sent_to_group(number):
                try:
                    os.kill(child, number)
                except OSError:
                    pass


class GroupSignalProbe:
    """A child process in the agent's process group that reports whether a signal was sent to the whole group.

    The probe inherits the blocked signals, so a signal to the group stays pending in the probe until the agent asks.
    """

    def __init__(self):
        self._child = self._request_writer = self._reply_reader = None
        try:
            request_reader, self._request_writer = (_move_above_stdio(descriptor) for descriptor in os.pipe())
            self._reply_reader, reply_writer = (_move_above_stdio(descriptor) for descriptor in os.pipe())
            self._child = os.fork()
        except OSError:
            return  # without a probe, every signal is forwarded, so some arrive twice, but none is lost
        if self._child == 0:
            try:
                _close_descriptors(request_reader, reply_writer)
                self._answer_requests(request_reader, reply_writer)
            finally:
                os._exit(0)
        os.close(request_reader)
        os.close(reply_writer)

    def was_sent_to_group(self, number):
        """Return whether a signal that the agent received was sent to its whole process group."""
        if not self._clear_in_probe(number):
            time.sleep(GROUP_SIGNAL_SECONDS)  # some systems signal the processes of a group one by one
            if not self._clear_in_probe(number):
                return False
        while number in signal.sigpending():
            # The signal arrived again; the probe may have merged both into one pending signal.
            signal.sigwait([number])
            self._clear_in_probe(number)
        return True

    def stop(self):
        """Kill the probe; all later signals count as sent to the agent only."""
        child, self._child = self._child, None
        try:
            if child:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        except OSError:
            pass  # already reaped

    def _clear_in_probe(self, number):
        """Clear a signal that is pending in the probe; return whether it was pending."""
        if self._child is None:
            return False
        try:
            os.write(self._request_writer, bytes([number]))
            if wait_readable(self._reply_reader, LOCAL_REPLY_SECONDS):
                return os.read(self._reply_reader, 1) == b"y"
        except OSError:
            pass
        self.stop()  # the probe hangs or was killed; a late reply would be mistaken for the reply to the next request
        return False

    def _answer_requests(self, request_reader, reply_writer):
        """For each requested signal, report whether it is pending and clear it; return when the agent exits."""
        while True:
            request = os.read(request_reader, 1)
            if not request:
                return
            number = request[0]
            is_pending = number in signal.sigpending()
            if is_pending:
                signal.sigwait([number])
            os.write(reply_writer, b"y" if is_pending else b"n")


def exit_like(exit_code, killed_by):
    """Exit like the command: killed by the same signal, or with the same exit code."""
    _flush_streams()
    if killed_by is not None and os.getpid() != 1:  # PID 1 cannot kill itself with a signal
        try:
            import resource

            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # only the command writes a core file
            if killed_by not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(killed_by, signal.SIG_DFL)
            os.kill(os.getpid(), killed_by)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [killed_by])
            time.sleep(1)  # wait until the signal is delivered
        except (OSError, ValueError):
            pass
    os._exit(exit_code)


# --- Background sender ---


def start_sender(spool, options, command_run, unspooled_start_event):
    """Start the sender, which delivers events while the command runs.

    Returns two descriptors. The agent writes the result of the command to the first descriptor. The sender writes to
    the second when it has detached from the job, and closes it after its first attempt to deliver the end event.
    """
    result_reader, result_writer = (_move_above_stdio(descriptor) for descriptor in os.pipe())
    status_reader, status_writer = (_move_above_stdio(descriptor) for descriptor in os.pipe())
    if os.fork() == 0:
        try:
            _detach_from_job(result_reader, status_writer)
            os.write(status_writer, b"detached")
            connection = ServiceConnection(options.url, options.api_key)
            run_sender(spool, connection, options, command_run, unspooled_start_event, (result_reader, status_writer))
        finally:
            os._exit(0)
    os.close(result_reader)
    os.close(status_writer)
    os.set_blocking(result_writer, False)
    return result_writer, status_reader


def notify_sender(sender, result, linger):
    """Pass the result of the command to the sender and wait up to `linger` seconds for the delivery.

    If the sender has died, the end event is still in the spool.
    """
    if sender is None:
        return
    result_writer, status_reader = sender
    if wait_readable(status_reader, LOCAL_REPLY_SECONDS):
        os.read(status_reader, _READ_BYTES)  # the sender has detached from the files and streams of the job
    try:
        os.write(result_writer, json.dumps(result).encode("utf-8"))
        os.close(result_writer)
    except OSError:
        return
    if linger > 0:
        wait_readable(status_reader, linger)


def run_sender(spool, connection, options, command_run, unspooled_start_event, descriptors):
    """Deliver events until the command has ended and its end event is delivered; runs in the sender process."""
    result_reader, status_writer = descriptors
    if unspooled_start_event is not None:
        send_or_drop(spool, connection, unspooled_start_event)
    deliver_pending(spool, connection)
    spool.remove_old_attempts()
    result = b""
    while True:
        if not wait_readable(result_reader, max(options.heartbeat, 0.05)):
            connection.send(_RUN_EVENT, _to_json(command_run.event("RUNNING")))
            deliver_pending(spool, connection)
            continue
        chunk = os.read(result_reader, _READ_BYTES)
        if not chunk:
            break
        result += chunk
    end_event, is_spooled = build_end_event(spool, command_run, result)
    if options.linger:
        deliver_pending(spool, connection)  # before reading output files, which may take longer than the agent waits
    has_details = command_run.add_dataset_details(end_event)
    if options.count or options.checksum:
        has_counts = add_line_counts_and_checksums(
            end_event, with_count=options.count, with_checksum=options.checksum
        )
        has_details = has_details or has_counts
    if has_details:
        is_spooled = spool.add(_RUN_EVENT, end_event)
    if not is_spooled:
        send_or_drop(spool, connection, end_event)
    deliver_with_retries(spool, connection, status_writer)


def build_end_event(spool, command_run, result):
    """Build the end event from the result sent by the agent; return the event, and whether the spool contains it."""
    try:
        event_type, exit_code, killed_by, is_spooled = json.loads(result.decode("utf-8"))
    except ValueError:
        # The agent has closed the pipe without a result.
        error = {"message": "the agent was killed", "programmingLanguage": "SHELL"}
        end_event = command_run.event("ABORT", has_ended=True, errorMessage=error)
        return end_event, spool.add(_RUN_EVENT, end_event)
    return command_run.end_event(event_type, exit_code, killed_by), is_spooled


def deliver_with_retries(spool, connection, status_writer):
    """Deliver pending events for up to DELIVERY_SECONDS.

    `status_writer` is closed after the first attempt; an agent that waits for the delivery then stops waiting.
    """
    deadline, delay = time.monotonic() + DELIVERY_SECONDS, 0.5
    _, _, stop_reason = deliver_pending(spool, connection, deadline)
    os.close(status_writer)
    while stop_reason is not None and spool.pending_names() and time.monotonic() < deadline:
        time.sleep(delay)
        delay = min(delay * 2, 10)
        _, _, stop_reason = deliver_pending(spool, connection, deadline)


def deliver_in_background(spool, url, api_key):
    """Deliver pending events in a detached process; if it cannot be started, the next call delivers the events."""
    try:
        child = os.fork()
        if child == 0:
            try:
                _detach_from_job()
                if os.fork() == 0:
                    deliver_pending(spool, ServiceConnection(url, api_key), time.monotonic() + DELIVERY_SECONDS)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
    except OSError:
        pass


# --- Subcommands ---


def run_and_report(options, environment):
    """Run a command, report the run, and exit like the command; does not return."""
    command = ChildCommand(options.command)
    spool = Spool(options.spool)
    command_run = sender = None
    try:
        command_run = CommandRun(options, environment, spool)
        start_event, is_spooled = spool_start_event(command_run, spool)
        sender = start_sender(spool, options, command_run, None if is_spooled else start_event)
        environment[_PARENT_RUN_VARIABLE] = command_run.to_parent_variable()
    except Exception:  # must not prevent the command from running
        pass
    exit_code, killed_by = command.run()
    try:
        if command_run is not None:
            event_type = "COMPLETE" if is_success(exit_code, options) else "FAIL"
            if killed_by is not None:
                event_type = "ABORT"
            is_spooled = spool.add(_RUN_EVENT, command_run.end_event(event_type, exit_code, killed_by))
            notify_sender(sender, [event_type, exit_code, killed_by, is_spooled], options.linger)
            if command_run.manifest:
                print_manifest_problems(command_run.manifest)
    except Exception:  # must not change the exit code
        pass
    exit_like(exit_code, killed_by)


def spool_start_event(command_run, spool):
    """Write the START event with the number of dropped events; return the event, and whether it is in the spool."""
    dropped_count = spool.dropped_count(_DROPPED_FOR_RUN)
    facets = {"droppedEvents": dropped_count} if dropped_count else {}
    start_event = command_run.event("START", **facets)
    is_spooled = spool.add(_RUN_EVENT, start_event)
    if is_spooled:
        spool.subtract_dropped(_DROPPED_FOR_RUN, dropped_count)
    return start_event, is_spooled


def is_success(exit_code, options):
    """Apply the JIL attributes: fail_codes if set, else success_codes if set, else max_exit_success."""
    if options.fail_codes:
        return not _is_in_ranges(exit_code, options.fail_codes)
    if options.success_codes:
        return _is_in_ranges(exit_code, options.success_codes)
    return exit_code <= options.max_exit_success


def _is_in_ranges(exit_code, ranges):
    return any(low <= exit_code <= high for low, high in ranges)


def check(options):
    """Check that the service responds and accepts the API key, without sending an event; return the exit code."""
    if not options.url.startswith(("http://", "https://")):
        _print("%s is not a URL: set LINEAGE_BRIDGE_URL to http://HOST:PORT or https://HOST" % options.url)
        return EXIT_UNDELIVERED
    # The service checks the key before it refuses the media type, so nothing is stored.
    status, text = ServiceConnection(options.url, options.api_key).send(_RUN_EVENT, b"", "text/plain")
    if status == 415 and "Unsupported media type" in text:
        _print(
            "%s responds and accepts %s" % (options.url, "the API key" if options.api_key else "events without a key")
        )
        return 0
    if status is None:
        reason = "does not respond (%s): check LINEAGE_BRIDGE_URL and the network" % text
    elif status in (401, 403):
        reason = "does not accept the API key (%s): check LINEAGE_BRIDGE_API_KEY" % _problem_detail(text)
    else:
        reason = "is not a lineage-bridge that can receive events (status %d): check LINEAGE_BRIDGE_URL" % status
    _print("%s %s" % (options.url, reason))
    return EXIT_UNDELIVERED


def _problem_detail(text):
    """Return the detail of a problem response, or the whole text of any other response."""
    try:
        return json.loads(text)["detail"]
    except (ValueError, KeyError, TypeError):
        return text


def flush(options):
    """Deliver all pending events of this user or, as root, of all users; return the exit code."""
    if os.geteuid() != 0:
        return flush_own_spool(options)
    # Imported while still root, because other users may not be able to read root's Python installation.
    import encodings.idna  # noqa: F401 - used by http.client
    import fcntl  # noqa: F401 - used by _try_lock
    import http.client  # noqa: F401 - used by ServiceConnection

    exit_codes = [flush_own_spool(options)]
    exit_codes.extend(run_as_user(user, lambda: flush_own_spool(options)) for user in spool_owners(options.spool))
    return max(exit_codes)


def flush_own_spool(options):
    """Deliver the pending events of the current user and print the result; return the exit code."""
    spool = Spool(options.spool)
    delivered_count, rejected_count, stop_reason = deliver_pending(
        spool, ServiceConnection(options.url, options.api_key)
    )
    pending_count, dropped_count = len(spool.pending_names()), spool.dropped_count(_DROPPED_FOR_FLUSH)
    rejected_dir = " (in %s)" % os.path.join(spool.directory, "refused") if rejected_count else ""
    pending_for = " for %s" % options.url if pending_count else ""
    message = "%d delivered, %d rejected%s, %d pending%s" % (
        delivered_count,
        rejected_count,
        rejected_dir,
        pending_count,
        pending_for,
    )
    if dropped_count:
        message += ", %d dropped earlier because the spool was full" % dropped_count
    if stop_reason:
        message += ": %s" % stop_reason
    _print(message)
    spool.subtract_dropped(_DROPPED_FOR_FLUSH, dropped_count)
    return EXIT_UNDELIVERED if pending_count or rejected_count or stop_reason or dropped_count else 0


def spool_owners(root):
    """Return (user id, group id) of every other user who has a spool under `root`."""
    owners = []
    for name in sorted(os.listdir(root) if os.path.isdir(root) else ()):
        uid = name[len(_SPOOL_PREFIX) :]
        if not name.startswith(_SPOOL_PREFIX) or not uid.isdigit():
            continue
        try:
            status = os.lstat(os.path.join(root, name))
        except OSError:
            continue
        if str(status.st_uid) == uid and status.st_uid != os.geteuid():
            owners.append((status.st_uid, status.st_gid))
    return owners


def run_as_user(user, action):
    """Run `action` in a child process as `user` (user id, group id); return the exit code.

    Root itself must not follow links in a directory that another user can write to.
    """
    user_id, group_id = user
    child = os.fork()
    if child == 0:
        exit_code = EXIT_UNDELIVERED
        try:
            os.setgroups([])
            os.setgid(group_id)
            os.setuid(user_id)
            exit_code = action()
        except Exception as error:
            _print("user %d: %s: %s" % (user_id, type(error).__name__, error))
        finally:
            os._exit(exit_code)
    _, status = os.waitpid(child, 0)
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else EXIT_UNDELIVERED


def register_dataset(name, version, status="SUCCESS", **fields):
    """Register a dataset version, for scripts that import this file; return False if the registration was dropped."""
    return _register_from_environment("dataset", dict(fields, name=name, version=version, status=status))


def register_process(name, status, **fields):
    """Register a process run, for scripts that import this file; return False if the registration was dropped."""
    return _register_from_environment("process", dict(fields, name=name, status=status))


def _register_from_environment(kind, body):
    environment = os.environ
    root = environment.get("LINEAGE_BRIDGE_SPOOL") or DEFAULT_SPOOL_ROOT
    url = environment.get("LINEAGE_BRIDGE_URL") or DEFAULT_URL
    return register_and_deliver(kind, body, Spool(root), url, environment.get("LINEAGE_BRIDGE_API_KEY"))


def register_and_deliver(kind, body, spool, url, api_key):
    """Spool a registration and deliver it in the background; return False if the spool did not accept it."""
    body.setdefault("time", _iso_time(time.time()))
    if kind == "dataset":
        body = normalize_registration(body)
    if not spool.add(kind, body):
        spool.record_dropped()
        return False
    deliver_in_background(spool, url, api_key)
    return True


def normalize_registration(body):
    """Name the dataset in the same way as `run` does, and add the path if the dataset is a file."""
    name, namespace, base_dir = str(body["name"]), body.get("namespace"), _current_dir()
    dataset = build_dataset(str(namespace), name, base_dir) if namespace else parse_dataset(name, base_dir)
    normalized_body = dict(dataset.pop("facets", {}), **body)
    normalized_body.update(dataset)
    if isinstance(normalized_body.get("path"), str):
        normalized_body["path"] = _normalize_path(normalized_body["path"], base_dir)
    return normalized_body


def handle_register(options):
    """Run `register_dataset` or `register_process`; return the exit code."""
    body = {"name": options.name, "status": options.status or "SUCCESS"}
    _, kind = options.subcommand.split("_")
    if kind == "dataset":
        body["version"] = options.version
    spool = Spool(options.spool)
    if register_and_deliver(kind, body, spool, options.url, options.api_key):
        return 0
    _print("event dropped: %s is full, not writable, or writable by other users" % spool.directory)
    return EXIT_UNDELIVERED


def install(path):
    """Copy this file to `path`, executable by all users; return the exit code.

    The copy replaces an older version atomically, so agents that are running are not affected.
    """
    if os.path.isdir(path):
        path = os.path.join(path, "lineage-bridge-agent")
    temporary_path = "%s.%d" % (path, os.getpid())
    try:
        with open(os.path.realpath(__file__), "rb") as source, open(temporary_path, "wb") as target:
            target.write(source.read())
        os.chmod(temporary_path, 0o755)  # noqa: S103 - jobs of all users run it
        os.rename(temporary_path, path)
    except OSError as error:
        _print("%s: %s" % (path, error.strerror))
        return EXIT_UNDELIVERED
    _print("installed as %s" % path)
    return 0


# --- Command line ---


class InvalidOption(str):
    """An option value that cannot be parsed."""

    __slots__ = ()


def tolerant(parse):
    """Make a parser return InvalidOption instead of failing, so that the command runs despite invalid options."""

    def parse_or_keep(text):
        try:
            return parse(text)
        except ValueError:
            return InvalidOption(text)

    return parse_or_keep


def parse_exit_codes(text):
    """Parse exit codes such as 0,4-8 into inclusive ranges; raises ValueError if a code is invalid."""
    ranges = []
    for code_range in filter(None, text.replace(" ", "").split(",")):
        first, dash, last = code_range.partition("-")
        low, high = int(first), int(last if dash else first)
        if low > high:
            raise ValueError(code_range)
        ranges.append((low, high))
    return ranges


def build_parser():
    import argparse

    environment = os.environ
    common = argparse.ArgumentParser(add_help=False)
    url = environment.get("LINEAGE_BRIDGE_URL") or DEFAULT_URL
    common.add_argument(
        "--url", default=url, help="URL of lineage-bridge (default: LINEAGE_BRIDGE_URL, else %s)" % DEFAULT_URL
    )
    api_key = environment.get("LINEAGE_BRIDGE_API_KEY")
    common.add_argument(
        "--api-key", default=api_key, help="API key with scope ingest (default: LINEAGE_BRIDGE_API_KEY)"
    )
    root = environment.get("LINEAGE_BRIDGE_SPOOL") or DEFAULT_SPOOL_ROOT
    common.add_argument(
        "--spool", default=root, help="directory that contains each user's spool (default: %(default)s)"
    )
    parser = argparse.ArgumentParser(prog="lineage-bridge-agent", description=__doc__.split("\n\n")[0])
    subcommands = parser.add_subparsers(dest="subcommand", metavar="COMMAND")
    add_run_options(subcommands.add_parser("run", parents=[common], help="run a command and report the run"))
    subcommands.add_parser("flush", parents=[common], help="deliver all pending events (as root: of all users)")
    subcommands.add_parser("check", parents=[common], help="check that the service responds and accepts the API key")
    installer = subcommands.add_parser("install", help="copy this file to where jobs can run it")
    installer.add_argument("path", help="target, such as /usr/local/bin/lineage-bridge-agent")
    dataset = subcommands.add_parser("register_dataset", parents=[common], help="register a version of a dataset")
    dataset.add_argument("name")
    dataset.add_argument("version")
    dataset.add_argument("status", nargs="?")
    process = subcommands.add_parser("register_process", parents=[common], help="register a run of a process")
    process.add_argument("name")
    process.add_argument("status")
    return parser


def add_run_options(parser):
    """Add the options of `run` and the positional command."""
    import argparse

    add = parser.add_argument
    integer, number, exit_codes = tolerant(int), tolerant(float), tolerant(parse_exit_codes)
    add("--job", help="job name: BOX/JOB of Autosys, or NAMESPACE=NAME (default: AUTO_JOB_NAME, else the command)")
    add("--run-id", help="run id: an Autosys run number, or any other id (default: AUTORUN, else a new UUID)")
    add("--attempt", type=integer, help="number of this try of the run (default: counted in the spool)")
    add(
        "--input",
        action="append",
        help="dataset that the command reads: a path, a URL, or NAMESPACE=NAME; repeatable",
    )
    add("--output", action="append", help="dataset that the command writes; repeatable")
    add("--manifest", help="JSON file that the command writes: its outputs and inputs, with row counts and versions")
    add("--count", action="store_true", help="count the lines of output files after the command has ended")
    add("--checksum", action="store_true", help="compute checksums of output files after the command has ended")
    add("--log", help="path of the log file of the command")
    add(
        "--max-exit-success",
        type=integer,
        default=0,
        help="highest exit code that is a success (default: %(default)s)",
    )
    add("--success-codes", type=exit_codes, help="exit codes that are successes, such as 0,4-8")
    add("--fail-codes", type=exit_codes, help="exit codes that are failures; every other code is a success")
    add(
        "--heartbeat",
        type=number,
        default=HEARTBEAT_SECONDS,
        help="seconds between RUNNING events (default: %(default)s)",
    )
    linger = LINGER_SECONDS if os.getpid() == 1 else 0.0
    add(
        "--linger",
        type=number,
        default=linger,
        help="seconds to wait for the delivery of the end event (default: %(default)s)",
    )
    add("command", nargs=argparse.REMAINDER, help="-- followed by the command and its arguments")


def main(arguments=None):
    """Run the agent; return the exit code."""
    parser = build_parser()
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        options, unknown_options = parser.parse_known_args(arguments)
    except SystemExit as error:
        # Invalid options must not prevent the command from running.
        if error.code and arguments[:1] == ["run"] and "--" in arguments:
            command = arguments[arguments.index("--") + 1 :]
            if command:
                run_without_reporting(command)
        raise
    if options.subcommand == "run":
        return handle_run(parser, options, unknown_options)
    if unknown_options:
        parser.error("unrecognized arguments: %s" % " ".join(unknown_options))
    if options.subcommand == "flush":
        return flush(options)
    if options.subcommand == "check":
        return check(options)
    if options.subcommand == "install":
        return install(options.path)
    if options.subcommand in ("register_dataset", "register_process"):
        return handle_register(options)
    parser.print_help(sys.stderr)
    return EXIT_USAGE


def handle_run(parser, options, unknown_options):
    """Run a command and report the run; if an option is invalid, print the problem and do not report the run."""
    command = options.command
    # After an unknown option, the argument before the -- may be the value of the option.
    if command[:1] == ["--"] or (unknown_options and "--" in command):
        command = command[command.index("--") + 1 :]
    if not command:
        parser.error("run: no command given; put it after --")
    problems = ["unknown option: %s" % option for option in unknown_options]
    for name, value in sorted(vars(options).items()):
        if isinstance(value, InvalidOption):
            problems.append("invalid value for --%s: %r" % (name.replace("_", "-"), str(value)))
    if problems:
        _print("; ".join(problems))
        run_without_reporting(command)
    options.command = command
    return run_and_report(options, os.environ)


def run_without_reporting(command):
    """Run a command without reporting it, and exit like the command."""
    _print("running the command without reporting it")
    exit_like(*ChildCommand(command).run())


if __name__ == "__main__":
    sys.exit(main())
