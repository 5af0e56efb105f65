package credential

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"gridbroker/durable"
)

// maxFile bounds what is read of one credential file.
const maxFile = 1 << 20

// asFinding returns err as a Finding.
func asFinding(err error) *Finding {
	if f, ok := errors.AsType[*Finding](err); ok {
		return f
	}
	return problem("internal", "", "unexpected error", "", "").because(err)
}

// readSecret reads a file that only its owner may read. kind ("x509",
// "token") begins the ids of findings; what names it in messages.
func readSecret(env Env, kind, what, path string) ([]byte, error) {
	f, err := durable.Open(path)
	if err != nil {
		return nil, openProblem(kind, what, path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, openProblem(kind, what, path, err)
	}
	if err := private(env, kind, what, path, info); err != nil {
		return nil, err
	}
	return readLimited(f, kind, what, path)
}

// readPublic reads a file whose readers do not matter.
func readPublic(kind, what, path string) ([]byte, error) {
	f, err := durable.Open(path)
	if err != nil {
		return nil, openProblem(kind, what, path, err)
	}
	defer f.Close()
	return readLimited(f, kind, what, path)
}

func readLimited(f *os.File, kind, what, path string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, openProblem(kind, what, path, err)
	}
	if len(data) > maxFile {
		return nil, problem(kind+".malformed", path, what+" is larger than 1 MiB", "", "this is hardly the right file")
	}
	return data, nil
}

func openProblem(kind, what, path string, err error) *Finding {
	if errors.Is(err, fs.ErrNotExist) {
		return problem(kind+".absent", path, what+" is not there", "", "").because(err)
	}
	return problem(kind+".unreadable", path, "cannot read "+what, "", "it must be a regular file that you may read: ls -l "+quote(path)).because(err)
}

// private refuses files others may read, or that belong to somebody else.
func private(env Env, kind, what, path string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(st.Uid) != env.UID {
		return problem(kind+".owner", path, what+" belongs to another user",
			fmt.Sprintf("owner is uid %d, you are uid %d", st.Uid, env.UID), "use a file of your own")
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return problem(kind+".permissions", path, what+" is open to other users",
			fmt.Sprintf("its mode is %04o", perm), "chmod 600 "+quote(path))
	}
	return nil
}

// quote makes a path safe to paste into a shell.
func quote(path string) string {
	for _, c := range path {
		if c != '/' && c != '.' && c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return fmt.Sprintf("'%s'", replaceQuotes(path))
		}
	}
	return path
}

func replaceQuotes(s string) string {
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		if s[i] == '\'' {
			out = append(out, `'\''`...)
		} else {
			out = append(out, s[i])
		}
	}
	return string(out)
}

// ReadSecret reads a file of at most 1 MiB that only its owner may read, in
// directories where nobody else can exchange it (see Owned); the caller clears
// it. One of root's may be open to a group, which root has chosen then. What is
// wrong with the file is told as a *Finding.
func ReadSecret(env Env, path string) ([]byte, error) {
	const kind, what = "file", "the file"
	if err := Owned(env, path); err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && ofRoot(env, info) {
		return readPublic(kind, what, path)
	}
	return readSecret(env, kind, what, path)
}

// ofRoot tells whether a file is one that root lets a daemon's group read.
func ofRoot(env Env, info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == 0 && env.UID != 0 && info.Mode().IsRegular() && info.Mode().Perm()&0o077 == 0o040
}
