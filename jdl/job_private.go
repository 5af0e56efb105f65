package jdl

import (
	"io/fs"
	"path"
	"strings"
)

// warnPrivate tells of a file for its owner's eyes alone that a description takes by
// a link out of its directory, or from where names begin with a dot: whoever has the
// description from somebody else would not think that it is sent.
func warnPrivate(r *jobReader, e inputEntry, abs string) {
	if at := privateAt(r.cfg.root, r.dir, abs); at != "" {
		r.warn(e.pos, "private-file", "the job's site will have it", "InputSandbox: %s is %s, which nobody but its owner may read", e.text, at)
	}
}

// privateAt is where such a file of a description in dir lies; "" for others.
func privateAt(root fs.FS, dir, abs string) string {
	info, err := fs.Stat(root, strings.TrimPrefix(abs, "/"))
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		return ""
	}
	at, home := realPath(root, abs), realPath(root, path.Clean(dir))
	inside := at == home || strings.HasPrefix(at, strings.TrimSuffix(home, "/")+"/")
	named := path.Join(home, strings.TrimPrefix(abs, path.Clean(dir)))
	if !inside && (at != abs && at != named || strings.Contains(at, "/.")) {
		return at
	}
	return ""
}

// maxLinks is how many links a name may pass, as on Linux.
const maxLinks = 40

// realPath is where an absolute name leads; where that cannot be told, the name.
func realPath(root fs.FS, abs string) string {
	at, rest := "/", strings.Split(strings.Trim(abs, "/"), "/")
	for links := 0; len(rest) > 0; {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		to, err := fs.ReadLink(root, strings.TrimPrefix(next, "/"))
		if err != nil { // it is none
			at = next
			continue
		}
		if links++; links > maxLinks {
			return abs
		}
		if path.IsAbs(to) {
			at = "/"
		}
		rest = append(strings.Split(strings.Trim(to, "/"), "/"), rest...)
	}
	return at
}
