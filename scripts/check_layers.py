#!/usr/bin/env python3
"""Checks every #include under src/ and include/ against the table src/ROOMS.

check_layers.py [SOURCE_DIR] prints one line a fault and exits 1 when there is one. The law: a room includes itself, libc,
and the face header room/room.h of the rooms that the table puts below it; never upward, never sideways; the command
includes only include/burin. Faces of another name, or of more than one header, stand in FACES.
"""
import pathlib
import re
import sys

FACES = {  # rooms whose face is not just room/room.h
    "base": {"base/base.h", "base/words.h"},
    "targets": {"targets/target.h"},
}
LIBRARIES = {"cli": {"yaml.h"}}  # well-kept ones, by room
LIBC = set("""assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg
stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype""".split())
POSIX = set("""dirent dlfcn fcntl fnmatch ftw glob libgen poll pthread sched semaphore spawn strings termios unistd
sys/ioctl sys/mman sys/resource sys/stat sys/time sys/types sys/wait""".split())
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>|(\S+))')


def read_rooms(source):
    """The table as a list of (room, words below it), groups NAME/* expanded to their folders."""
    def expand(name):
        if not name.endswith("/*"):
            return [name]
        folder = source / "src" / name[:-2]
        return sorted(f"{name[:-2]}/{p.name}" for p in folder.iterdir() if p.is_dir()) if folder.is_dir() else []

    rooms = []
    for line in (source / "src" / "ROOMS").read_text().splitlines():
        if line.startswith("#") or not line.strip():
            continue
        name, colon, words = line.partition(":")
        if not colon:
            sys.exit(f"src/ROOMS: not a room: {line}")
        below = []
        for word in words.split():
            below += [room for room, _ in rooms] if word == "..." else expand(word)
        rooms += [(room, below) for room in expand(name)]
    return rooms


def room_of(path, rooms):
    """The room of a path below src/: the longest that is a folder of it, or None."""
    parents = [str(p) for p in pathlib.PurePosixPath(path).parents]
    return next((p for p in parents if p in rooms), None)


def fault(path, header, angle, rooms):
    """Why the file `path` (relative to the source tree) may not include `header`; None: it may."""
    public = path.startswith("include/")
    room = None if public else room_of(path[len("src/"):], rooms)
    if not public and room is None:
        return "stands in no room of src/ROOMS"
    below = ["burin"] if public else rooms[room]
    if header.startswith("burin/"):
        return None if "burin" in below else f"{room} may not use the public headers"
    if angle:
        return None if header[:-2] in LIBC | POSIX or header in LIBRARIES.get(room, ()) else "not a header of libc or POSIX"
    if public:
        return "a public header includes only burin/ and libc"
    if "/" not in header:
        return 'write "room/file.h"'
    other = room_of(header, rooms)
    if other is None:
        return "no such room"
    if other == room:
        return None
    if other not in below:
        return f"{other} is not below {room}"
    faces = FACES.get(other, {f"{other}/{other.rpartition('/')[2]}.h"})
    return None if header in faces else f"not a face of {other}: {', '.join(sorted(faces))}"


def main():
    source = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    rooms = dict(read_rooms(source))
    faults = files = 0
    for top in ("src", "include"):
        for file in sorted((source / top).rglob("*.[ch]")):
            files += 1
            path = file.relative_to(source).as_posix()
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                quoted, angled, other = match.groups()
                why = "name the header" if other else fault(path, quoted or angled, bool(angled), rooms)
                if why:
                    faults += 1
                    print(f"{path}:{number}: #include {quoted or angled or other}: {why}")
    print(f"{files} files, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
